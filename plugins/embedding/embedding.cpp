// Embedding: token ids become rows of a table. README.md has the maths.
#include <lamina/plugin.hpp>

#include "embedding.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct Embedding {
    static constexpr auto id = "embedding";
    static constexpr auto summary = "table[id] * scale + residual";
    static constexpr auto source = "Vaswani et al.: Attention Is All You Need, arXiv:1706.03762, section 3.4";

    static constexpr std::array params{
        real("scale", "factor of the rows; sqrt(C) in the Transformer", 1, -1e6, 1e6),
    };
    static constexpr std::array inputs{
        indices("ids", "...", "0 V", "token ids"),
        optional(input("residual", "... C", "added to the result, such as the embeddings of other ids")),
    };
    static constexpr std::array weights{
        in_blocks(weight("table", "V C", "one row for each token of the vocabulary")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... C", "the rows of the ids")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one workgroup of 64 per id"),
    };
    static constexpr std::array tolerances{tolerance(1e-6, 2e-6)};
    static constexpr std::array cases{
        "B=2 T=3 V=11 C=160",
        "B=2 T=37 V=97 C=113 scale=10.63 weights=f16 table=small",
        "B=1 T=5 V=3 C=257 scale=-2 weights=bf16",
        "B=3 T=2 V=1 C=1 weights=f16",
        "B=1 T=64 V=1009 C=64 scale=8",
        "B=2 T=9 V=31 C=160 scale=3 weights=q8_0 table=small",
        "B=2 T=7 V=2 C=129 +residual",
        "B=1 T=33 V=5 C=64 scale=8 +residual weights=q8_0",
        "B=1 T=9 V=7 C=96 weights=q4_0",
        "B=1 T=9 V=7 C=32 weights=q4_1",
        "B=1 T=9 V=7 C=96 weights=q5_0",
        "B=1 T=9 V=7 C=96 weights=q5_1",
        "B=1 T=9 V=5 C=512 scale=16 weights=q4_k table=small",
        "B=1 T=9 V=5 C=256 scale=16 weights=q5_k",
        "B=1 T=9 V=5 C=256 scale=16 weights=q6_k",
        "B=1 T=9 V=5 C=512 weights=q2_k",
        "B=1 T=9 V=5 C=512 weights=q3_k",
        "B=1 T=9 V=7 C=96 weights=iq4_nl",
        "B=1 T=9 V=5 C=512 weights=iq4_xs",
        "B=1 T=9 V=5 C=512 weights=i8_k",
        "B=1 T=9 V=5 C=512 weights=i4_k",
        "B=1 T=9 V=5 C=512 weights=i4_k table=spread",
    };

    static void reference(const Call &call) {
        const Tensor ids = call.in("ids"), residual = call.in("residual"), y = call.out("y");
        const Tensor table = call.weight("table");
        const double scale = call.real("scale");
        for (const int64_t r : call.wanted(y)) {
            const auto from = table.row(ids.i32()[static_cast<size_t>(r)]), to = y.row(r);
            for (size_t c = 0; c < from.size(); ++c)
                to[c] = static_cast<float>(from[c] * scale + (residual ? residual.row(r)[c] : 0.0));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor ids = call.in("ids"), table = call.weight("table");
        const int64_t cols = table.cols();
        const auto kernel = table.in_blocks() ? lamina_kernels::embedding_blocks : lamina_kernels::embedding;
        (void)u32(ids.size() * cols); // the kernel counts elements in 32 bits
        for (const Window &window : plan.windows(plan.weight("table"), table.dim(0), table.row_bytes())) {
            const struct {
                uint32_t n, cols, first, count;
                float scale;
            } push{u32(ids.size()), u32(cols), u32(window.first), u32(window.count),
                   static_cast<float>(call.real("scale"))};
            plan.dispatch(kernel, plan.spread(ids.size()),
                          {plan.in("ids"), window.ref, plan.in("residual"), plan.out("y")}, push,
                          {{0, dtype_of(table)}, {1, static_cast<bool>(call.in("residual"))}});
        }
    }
};

} // namespace

LAMINA_PLUGIN(Embedding)
