// Biases of attention by how far apart words, and patches of an image, stand in a text and on a page. README.md has the
// maths.
#include <lamina/plugin.hpp>

#include "layout_bias.kernels.hpp"
#include "setting.hpp"

namespace {
using namespace lamina::plugin;

struct LayoutBias {
    static constexpr auto id = "layout_bias";
    static constexpr auto summary =
        "biases by the distances of words and patches in their order and on their page, and "
        "which of these count";
    static constexpr auto source = "Xu et al.: LayoutLMv2, arXiv:2012.14740, section 2.2; Huang et al.: LayoutLMv3, "
                                   "arXiv:2204.08387, section 2.1";

    static constexpr std::array params{
        required(integer("heads", "heads of the attention", 1, 1, 1024)),
        integer("image_rows",
                "rows of an image behind those of a text: one of the whole, then a square of patches; 0: none", 0, 0,
                1048576),
        real("scale", "factor of the sum of biases", 1, 0, 1000),
        integer("max_distance", "rows at this distance and beyond share a bucket", 128, 1, 1048576),
        integer("max_box_distance", "places on the page at this distance and beyond share a bucket", 256, 1, 1048576),
    };
    static constexpr std::array inputs{
        indices("boxes", "B T 4", "0 65536",
                "where each word is, in thousandths of its page: left, top, right, bottom"),
        indices("lengths", "B", "0 T+1", "how many words of each text count"),
    };
    static constexpr std::array weights{
        optional(weight("table", "heads buckets", "of distances in the order of a text or an image")),
        optional(weight("x_table", "heads box_buckets", "of distances of left sides; goes with y_table")),
        optional(weight("y_table", "heads box_buckets", "of distances of bottom sides")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B heads T+image_rows T+image_rows", "the bias of each query and key")),
        by_rows(
            indices("key_mask", "B T+image_rows", "0 2", "0: filler behind a text; 1: a word, or a row of an image")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation for all heads of a query and a key"),
    };
    static constexpr std::array tolerances{tolerance(1e-6, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=7 heads=3 buckets=8 box_buckets=6 image_rows=5 max_distance=9 max_box_distance=40 scale=0.5 "
        "+table +x_table +y_table",
        "B=1 T=1 heads=1 buckets=4 box_buckets=4 max_distance=2 max_box_distance=2 +table +x_table +y_table",
        "B=2 T=37 heads=2 buckets=32 image_rows=10 +table weights=f16",
        "B=1 T=23 heads=5 box_buckets=64 image_rows=17 +x_table +y_table weights=bf16",
        "B=3 T=9 heads=2 image_rows=2",
        "B=2 T=19 heads=2 buckets=9 box_buckets=7 max_distance=11 max_box_distance=100 "
        "+table +x_table +y_table lengths=one boxes=max",
        "B=1 T=67 heads=1 buckets=32 box_buckets=64 image_rows=197 scale=0.125 +table +x_table +y_table boxes=zeros",
        "B=2 T=5 heads=3 buckets=8 image_rows=5 +table lengths=zeros",
    };

    static void check(const Call &call) {
        const LayoutSetting s(call);
        if (s.image != 0 && s.image != s.side * s.side + 1)
            throw Invalid("image_rows: expected 0, or 1 more than a square, such as 197 for 14 x 14 patches, found " +
                          std::to_string(s.image));
        if (static_cast<bool>(call.weight("x_table")) != static_cast<bool>(call.weight("y_table")))
            throw Invalid("expected both x_table and y_table, or neither");
        check_buckets(call.weight("table"), call, "max_distance");
        check_buckets(call.weight("x_table"), call, "max_box_distance");
    }

    static void reference(const Call &call) {
        const Tensor boxes = call.in("boxes"), lengths = call.in("lengths"), y = call.out("y"),
                     mask = call.out("key_mask");
        const Tensor table = call.weight("table"), across = call.weight("x_table"), down = call.weight("y_table");
        const LayoutSetting s(call);
        const LayoutBuckets distances(table, call.integer("max_distance")),
            places(across, call.integer("max_box_distance"));
        const double scale = call.real("scale");
        for (const int64_t b : call.wanted(mask))
            for (int64_t j = 0; j < s.rows; ++j)
                mask.i32()[static_cast<size_t>(b * s.rows + j)] =
                    s.counts(lengths.i32()[static_cast<size_t>(b)], j) ? 1 : 0;
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / (s.heads * s.rows), h = r / s.rows % s.heads;
            const LayoutPlace query = s.of(boxes, b, r % s.rows);
            for (int64_t j = 0; j < s.rows; ++j) {
                const LayoutPlace key = s.of(boxes, b, j);
                double sum = 0;
                if (table) sum += table.row(h)[distances.of(key.position - query.position)];
                if (across) {
                    sum += across.row(h)[places.of(key.left - query.left)];
                    sum += down.row(h)[places.of(key.bottom - query.bottom)];
                }
                y.row(r)[static_cast<size_t>(j)] = static_cast<float>(scale * sum);
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor table = call.weight("table"), across = call.weight("x_table"), down = call.weight("y_table");
        const LayoutSetting s(call);
        const int64_t farthest = call.integer("max_distance"), farthest_place = call.integer("max_box_distance");
        std::vector<uint32_t> buckets = LayoutBuckets(table, farthest).all();
        const size_t of_rows = buckets.size();
        const LayoutBuckets places(across, farthest_place);
        buckets.insert(buckets.end(), places.all().begin(), places.all().end());
        if (buckets.empty()) buckets.push_back(0); // a buffer cannot be empty
        (void)u32(call.out("y").size());           // the kernel counts its elements in 32 bits
        const int64_t pairs = call.out("y").size() / s.heads;
        const struct {
            uint32_t pairs, heads, texts, rows, side, places; // places: where their buckets begin
            int32_t farthest, farthest_place;
            uint32_t buckets, box_buckets; // columns of the tables
            float scale;
        } push{u32(pairs),
               u32(s.heads),
               u32(s.texts),
               u32(s.rows),
               u32(s.side),
               u32(static_cast<int64_t>(of_rows)),
               static_cast<int32_t>(farthest),
               static_cast<int32_t>(farthest_place),
               u32(table ? table.cols() : 0),
               u32(across ? across.cols() : 0),
               static_cast<float>(call.real("scale"))};
        plan.dispatch(lamina_kernels::layout_bias, plan.spread(ceil_div(pairs, 64)),
                      {plan.in("boxes"), plan.in("lengths"), plan.constant(std::span(buckets)), plan.weight("table"),
                       plan.weight("x_table"), plan.weight("y_table"), plan.out("y"), plan.out("key_mask")},
                      push,
                      {{0, dtype_of(table)},
                       {1, dtype_of(across)},
                       {2, dtype_of(down)},
                       {3, static_cast<bool>(table)},
                       {4, static_cast<bool>(across)}});
    }

  private:
    static void check_buckets(const Tensor &table, const Call &call, const char *param) {
        if (!table) return;
        const DistanceBuckets buckets{table.dim(1) / 2, call.integer(param)};
        if (!buckets.valid())
            throw Invalid("each direction has " + std::to_string(buckets.count) + " buckets for distances up to " +
                          std::to_string(buckets.max_distance) +
                          "; expected at least 2, and fewer than twice that distance (" + param + ")");
    }
};

} // namespace

LAMINA_PLUGIN(LayoutBias)
