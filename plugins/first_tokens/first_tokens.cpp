// The first tokens of each sequence, up to one with a certain id. README.md says what for.
#include <lamina/plugin.hpp>

#include "first_tokens.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct FirstTokens {
    static constexpr auto id = "first_tokens";
    static constexpr auto summary = "how many first tokens of a sequence come before one with a certain id, and which";
    static constexpr auto source = "Beltagy et al.: Longformer, arXiv:2004.05150, section 3.1 (global attention)";

    static constexpr double greatest = 2147483647.0;
    static constexpr std::array params{
        integer("until", "the id before which they end; -1: none", -1, -1, greatest),
        integer("most", "how many they are at most", greatest, 0, greatest),
    };
    static constexpr std::array inputs{
        indices("ids", "B T", "0 2147483647", "tokens"),
        optional(indices("lengths", "B", "0 T+1", "how many tokens of a sequence count; all when left out")),
    };
    static constexpr std::array outputs{
        indices("count", "B", "0 T+1", "how many of each sequence"),
        indices("mask", "B T", "0 2", "1: the token is one of them"),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("a workgroup of 64 per sequence"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)};
    static constexpr std::array cases{
        "B=1 T=1 until=5",           "B=2 T=9 until=0 ids=zeros",
        "B=3 T=131 until=1 ids=one", "B=3 T=131 most=70 +lengths",
        "B=3 T=131 until=7",         "B=2 T=1000 until=40 +lengths",
        "B=2 T=67 most=1",           "B=2 T=7 until=3 +lengths lengths=zeros",
        "B=5 T=37 +lengths",
    };

    static void reference(const Call &call) {
        const Tensor ids = call.in("ids"), lengths = call.in("lengths");
        const std::span<int32_t> count = call.out("count").i32(), mask = call.out("mask").i32();
        const int64_t steps = ids.dim(1);
        for (int64_t b = 0; b < ids.dim(0); ++b) {
            const int64_t length = lengths ? lengths.i32()[static_cast<size_t>(b)] : steps;
            const auto counted = static_cast<size_t>(std::min(length, call.integer("most")));
            const auto tokens = ids.i32().subspan(static_cast<size_t>(b * steps), counted);
            const auto end = std::ranges::find(tokens, static_cast<int32_t>(call.integer("until"))) - tokens.begin();
            count[static_cast<size_t>(b)] = static_cast<int32_t>(end);
            for (int64_t t = 0; t < steps; ++t) mask[static_cast<size_t>(b * steps + t)] = t < end ? 1 : 0;
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor ids = call.in("ids");
        (void)u32(ids.size()); // the kernel counts elements in 32 bits
        const struct {
            uint32_t sequences, steps;
            int32_t until;
            uint32_t most;
        } push{u32(ids.dim(0)), u32(ids.dim(1)), static_cast<int32_t>(call.integer("until")),
               u32(call.integer("most"))};
        plan.dispatch(lamina_kernels::first_tokens, plan.spread(ids.dim(0)),
                      {plan.in("ids"), plan.in("lengths"), plan.out("count"), plan.out("mask")}, push,
                      {{0, static_cast<bool>(call.in("lengths"))}});
    }
};

} // namespace

LAMINA_PLUGIN(FirstTokens)
