// T5's relative positions: a bias that attention adds to each score, by distance. README.md has the maths.
#include <lamina/plugin.hpp>
#include <lamina/plugin/distance_buckets.hpp>

#include "relative_position_bias.kernels.hpp"

#include <algorithm>

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
        const DistanceBuckets buckets = buckets_of(call);
        if (call.flag("bidirectional") && call.weight("table").dim(0) % 2 != 0)
            throw Invalid("table has " + std::to_string(call.weight("table").dim(0)) +
                          " buckets; expected an even number, half of them for each direction");
        if (!buckets.valid())
            throw Invalid("each direction has " + std::to_string(buckets.count) +
                          " buckets; expected at least 2, and fewer than 2 * max_distance = " +
                          std::to_string(2 * buckets.max_distance));
    }

    static void reference(const Call &call) {
        const Tensor table = call.weight("table"), y = call.out("y");
        const std::vector<uint32_t> buckets = of_distances(call);
        for (const int64_t h : call.wanted(y))
            std::ranges::transform(buckets, y.row(h).begin(),
                                   [&](uint32_t bucket) { return table.row(bucket)[static_cast<size_t>(h)]; });
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor table = call.weight("table");
        const std::vector<uint32_t> buckets = of_distances(call);
        const struct { uint32_t heads, distances; } push{u32(table.cols()), u32(static_cast<int64_t>(buckets.size()))};
        plan.dispatch(lamina_kernels::relative_position_bias, plan.spread(ceil_div(call.out("y").size(), 64)),
                      {plan.constant(std::span(buckets)), plan.weight("table"), plan.out("y")}, push,
                      {{0, dtype_of(table)}});
    }

  private:
    static DistanceBuckets buckets_of(const Call &call) {
        return {call.weight("table").dim(0) / (call.flag("bidirectional") ? 2 : 1), call.integer("max_distance")};
    }
    static std::vector<uint32_t> of_distances(const Call &call) {
        const DistanceBuckets buckets = buckets_of(call);
        return call.flag("bidirectional") ? buckets.of_both_directions() : buckets.of_one_direction();
    }
};

} // namespace

LAMINA_PLUGIN(RelativePositionBias)
