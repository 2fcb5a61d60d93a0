// Adds learned embeddings of where a word stands on a page. README.md has the maths.
#include <lamina/plugin.hpp>

#include "layout_embedding.kernels.hpp"

#include <algorithm>
#include <array>

namespace {
using namespace lamina::plugin;

struct LayoutEmbedding {
    static constexpr auto id = "layout_embedding";
    static constexpr auto summary = "x + learned embeddings of a box: of its four sides, its height and its width";
    static constexpr auto source = "Xu et al.: LayoutLMv2, arXiv:2012.14740, section 2.1; Huang et al.: LayoutLMv3, "
                                   "arXiv:2204.08387, section 2.1";

    static constexpr std::array inputs{
        input("x", "B T 4*P+2*S", "embeddings of words"),
        indices("boxes", "B T 4", "0 M", "where each word is: left, top, right and bottom"),
    };
    static constexpr std::array weights{
        weight("x_table", "M P", "a row for each place across the page, of left and right"),
        weight("y_table", "M P", "a row for each place down the page, of top and bottom"),
        weight("height_table", "M S", "a row for each height"),
        weight("width_table", "M S", "a row for each width"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T 4*P+2*S", "x + the rows of left, top, right, bottom, height and width, side by side")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(1e-6, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=3 P=3 S=2 M=11",
        "B=1 T=1 P=1 S=1 M=1",
        "B=2 T=37 P=16 S=8 M=97 weights=f16",
        "B=3 T=5 P=2 S=9 M=1024 weights=bf16",
        "B=1 T=9 P=33 S=31 M=5 boxes=max",
        "B=2 T=17 P=7 S=3 M=31 boxes=zeros weights=f16",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), boxes = call.in("boxes"), y = call.out("y");
        const Tensor across = call.weight("x_table"), down = call.weight("y_table"),
                     heights = call.weight("height_table"), widths = call.weight("width_table");
        for (const int64_t r : call.wanted(y)) {
            const auto box = boxes.i32().subspan(static_cast<size_t>(4 * r), 4);
            const int64_t left = box[0], top = box[1], right = box[2], bottom = box[3];
            const auto from = x.row(r), to = y.row(r);
            size_t c = 0;
            for (const auto &part :
                 {across.row(left), down.row(top), across.row(right), down.row(bottom),
                  heights.row(std::max<int64_t>(bottom - top, 0)), widths.row(std::max<int64_t>(right - left, 0))})
                for (const float value : part) {
                    to[c] = static_cast<float>(double{from[c]} + value);
                    ++c;
                }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor y = call.out("y"), across = call.weight("x_table"), heights = call.weight("height_table");
        const struct {
            uint32_t size, columns, of_place, of_side; // elements of y; channels: of a row, a place, a height
        } push{u32(y.size()), u32(y.cols()), u32(across.cols()), u32(heights.cols())};
        for (const char *table : {"x_table", "height_table"})
            (void)u32(call.weight(table).size()); // the kernel counts their elements in 32 bits
        plan.dispatch(lamina_kernels::layout_embedding, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("x"), plan.in("boxes"), plan.weight("x_table"), plan.weight("y_table"),
                       plan.weight("height_table"), plan.weight("width_table"), plan.out("y")},
                      push,
                      {{0, dtype_of(across)},
                       {1, dtype_of(call.weight("y_table"))},
                       {2, dtype_of(heights)},
                       {3, dtype_of(call.weight("width_table"))}});
    }
};

} // namespace

LAMINA_PLUGIN(LayoutEmbedding)
