// T5's relative positions: a bias that attention adds to each score, by distance. README.md has the maths.
#include <lamina/plugin.hpp>

#include "relative_position_bias.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

struct RelativePositionBias {
    static constexpr auto id = "relative_position_bias";
    static constexpr auto summary = "table[bucket(d)] for every distance d from -max_distance to max_distance";
    static constexpr auto source = "Raffel et al.: Exploring the Limits of Transfer Learning with a Unified "
                                   "Text-to-Text Transformer, arXiv:1910.10683, section 2.1";

    static constexpr std::array params{
        boolean("bidirectional", "half of the buckets are for keys after the query; false: all of these share one",
                true),
        integer("max_distance", "keys at this distance and beyond share a bucket", 128, 1, 1048576),
    };
    static constexpr std::array weights{
        weight("table", "buckets heads", "the bias of each bucket, for each head"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "heads 2*max_distance+1",
                       "column max_distance + d: the bias of keys d positions after the query")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per value, by a table of buckets"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // values are copied
    static constexpr std::array cases{
        "buckets=32 heads=8",
        "buckets=32 heads=6 bidirectional=0 weights=bf16",
        "buckets=32 heads=12 max_distance=256 weights=f16",
        "buckets=4 heads=1 max_distance=3",
        "buckets=7 heads=5 max_distance=1000 bidirectional=0",
    };

    static void check(const Call &call) {
        const Buckets buckets(call);
        if (call.flag("bidirectional") && call.weight("table").dim(0) % 2 != 0)
            throw Invalid("table has " + std::to_string(call.weight("table").dim(0)) +
                          " buckets; expected an even number, half of them for each direction");
        if (buckets.exact < 1 || buckets.max_distance <= buckets.exact)
            throw Invalid("each direction has " + std::to_string(buckets.count) +
                          " buckets; expected at least 2, and fewer than 2 * max_distance = " +
                          std::to_string(2 * buckets.max_distance));
    }

    static void reference(const Call &call) {
        const Tensor table = call.weight("table"), y = call.out("y");
        const std::vector<uint32_t> buckets = Buckets(call).of_distances();
        for (const int64_t h : call.wanted(y))
            std::ranges::transform(buckets, y.row(h).begin(),
                                   [&](uint32_t bucket) { return table.row(bucket)[static_cast<size_t>(h)]; });
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor table = call.weight("table");
        const std::vector<uint32_t> buckets = Buckets(call).of_distances();
        const struct { uint32_t heads, distances; } push{u32(table.cols()), u32(static_cast<int64_t>(buckets.size()))};
        plan.dispatch(lamina_kernels::relative_position_bias, plan.spread(ceil_div(call.out("y").size(), 64)),
                      {plan.constant(std::span(buckets)), plan.weight("table"), plan.out("y")}, push,
                      {{0, dtype_of(table)}});
    }

  private:
    struct Buckets {
        int64_t max_distance, count, exact; // count: buckets per direction; exact: buckets of a single distance
        bool bidirectional;

        explicit Buckets(const Call &call)
            : max_distance(call.integer("max_distance")),
              count(call.weight("table").dim(0) / (call.flag("bidirectional") ? 2 : 1)), exact(count / 2),
              bidirectional(call.flag("bidirectional")) {}

        [[nodiscard]] std::vector<uint32_t> of_distances() const {
            std::vector<uint32_t> out;
            for (int64_t d = -max_distance; d <= max_distance; ++d)
                out.push_back(
                    u32(bidirectional ? of(std::abs(d)) + (d > 0 ? count : 0) : of(std::max<int64_t>(-d, 0))));
            return out;
        }
        // In float, in the order of the original code: rounding decides where a bucket begins.
        [[nodiscard]] int64_t of(int64_t distance) const {
            if (distance < exact) return distance;
            const auto d = static_cast<float>(distance), e = static_cast<float>(exact);
            const auto range =
                static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
            const float part = std::log(d / e) / range;
            return std::min(exact + static_cast<int64_t>(part * static_cast<float>(count - exact)), count - 1);
        }
    };
};

} // namespace

LAMINA_PLUGIN(RelativePositionBias)
