// Embeddings without those of masks, scaled by how many these are. README.md has the maths.
#include <lamina/plugin.hpp>

#include "token_dropout.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct TokenDropout {
    static constexpr auto id = "token_dropout";
    static constexpr auto summary = "x * (1 - trained) / (1 - the share of masks), and 0 for the masks themselves";
    static constexpr auto source = "Rives et al.: Biological structure and function emerge from scaling unsupervised "
                                   "learning to 250 million protein sequences, PNAS 118 (2021); as their code does it: "
                                   "github.com/facebookresearch/esm, esm/model/esm2.py";

    static constexpr std::array params{
        required(integer("mask", "the id of the mask", 0, 0)),
        real("trained", "the share of masks in training", 0.12, 0, 0.99),
    };
    static constexpr std::array inputs{
        input("x", "B T C", "embeddings"),
        indices("ids", "B T", "0 2147483647", "the tokens that they are of"),
        optional(indices("lengths", "B", "0 T+1", "how many tokens of a sequence count; all when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T C", "embeddings")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("a workgroup of 64 per token, which counts the masks of its sequence"),
    };
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{
        "B=1 T=1 C=1 mask=5",
        "B=2 T=9 C=37 mask=0 ids=zeros",
        "B=3 T=5 C=64 mask=1 ids=one +lengths",
        "B=2 T=131 C=130 mask=0 trained=0.3 +lengths ids=zeros lengths=one",
        "B=2 T=7 C=20 mask=3 +lengths lengths=zeros",
        "B=2 T=7 C=37 mask=5 trained=0.2",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), lengths = call.in("lengths"), y = call.out("y");
        const std::span<const int32_t> ids = call.in("ids").i32();
        const int64_t steps = x.dim(1), mask = call.integer("mask");
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / steps, first = b * steps;
            const int64_t length = lengths ? lengths.i32()[static_cast<size_t>(b)] : steps;
            const auto of_sequence = ids.subspan(static_cast<size_t>(first), static_cast<size_t>(length));
            const auto masks = static_cast<double>(std::ranges::count(of_sequence, mask));
            const bool none = ids[static_cast<size_t>(r)] == mask || masks == static_cast<double>(length);
            const double factor = none ? 0 : (1 - call.real("trained")) / (1 - masks / static_cast<double>(length));
            std::ranges::transform(x.row(r), y.row(r).begin(),
                                   [&](double v) { return none ? 0.0F : static_cast<float>(v * factor); });
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        (void)u32(x.size()); // the kernel counts elements in 32 bits
        const struct {
            uint32_t rows, steps, cols, mask;
            float kept;
        } push{u32(x.rows()), u32(x.dim(1)), u32(x.cols()), u32(call.integer("mask")),
               static_cast<float>(1 - call.real("trained"))};
        plan.dispatch(lamina_kernels::token_dropout, plan.spread(x.rows()),
                      {plan.in("x"), plan.in("ids"), plan.in("lengths"), plan.out("y")}, push,
                      {{0, static_cast<bool>(call.in("lengths"))}});
    }
};

} // namespace

LAMINA_PLUGIN(TokenDropout)
