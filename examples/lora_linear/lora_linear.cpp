// A linear layer with a low-rank adapter next to its weight. README.md has the maths.
#include <lamina/plugin.hpp>

#include "lora_linear.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct LoraLinear {
    static constexpr auto id = "lora_linear";
    static constexpr auto summary = "x * transpose(weight) + bias + scale * (x * transpose(down)) * transpose(up)";
    static constexpr auto source = "Hu et al.: LoRA: Low-Rank Adaptation of Large Language Models, arXiv:2106.09685";

    static constexpr std::array params{real("scale", "of the adapter: alpha / R in the paper", 1, -1e3, 1e3)};
    static constexpr std::array inputs{input("x", "... K", "rows of K values")};
    static constexpr std::array weights{
        weight("weight", "N K", "the weight without the adapter"),
        optional(weight("bias", "N", "added to the result; 0 when left out")),
        weight("down", "R K", "the adapter's A: from K values to R"),
        weight("up", "N R", "the adapter's B: from R values to N"),
    };
    static constexpr std::array outputs{by_rows(output("y", "... N", "rows of N values"))};

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("one invocation per value")};
    static constexpr std::array tolerances{tolerance(2e-5, 2e-6)};
    static constexpr std::array cases{
        "B=2 T=5 K=37 N=65 R=4 scale=2 +bias",
        "B=1 T=3 K=128 N=96 R=16 weights=f16 down=f32 up=f32",
        "T=1 K=64 N=64 R=1 scale=-0.5 weights=bf16",
    };

    // An invocation loops over K and R, and some drivers end long loops.
    static void check(const Call &call) {
        expect_at_most(most_inner, "K", call.in("x").cols());
        expect_at_most(most_rank, "R", call.weight("down").rows());
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), bias = call.weight("bias"), y = call.out("y");
        for (const int64_t r : call.wanted(y)) {
            const std::vector<double> row(x.row(r).begin(), x.row(r).end());
            const std::vector<double> added = product(product(row, call.weight("down")), call.weight("up"));
            const std::vector<double> base = product(row, call.weight("weight"));
            for (size_t n = 0; n < base.size(); ++n)
                y.row(r)[n] =
                    static_cast<float>(base[n] + (bias ? bias.f32()[n] : 0.0) + call.real("scale") * added[n]);
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), down = call.weight("down");
        const int64_t rows = x.rows(), rank = down.rows(), outputs = weight.rows();
        const struct {
            uint32_t rows, inner, outer, rank;
            float scale;
        } push{u32(rows), u32(x.cols()), u32(outputs), u32(rank), static_cast<float>(call.real("scale"))};
        const lamina_ref narrow = plan.scratch(rows * rank * 4); // between the dispatches
        plan.dispatch(lamina_kernels::down, plan.spread(ceil_div(rows * rank, 64)),
                      {plan.in("x"), plan.weight("down"), narrow}, push, {{0, dtype_of(down)}});
        plan.dispatch(
            lamina_kernels::lora_linear, plan.spread(ceil_div(rows * outputs, 64)),
            {plan.in("x"), plan.weight("weight"), plan.weight("bias"), narrow, plan.weight("up"), plan.out("y")}, push,
            {{0, dtype_of(weight)}, {1, dtype_of(call.weight("bias"))}, {2, dtype_of(call.weight("up"))}});
    }

  private:
    static constexpr int64_t most_inner = 32768, most_rank = 4096;

    static void expect_at_most(int64_t most, const char *dim, int64_t found) {
        if (found > most)
            throw Invalid(std::string(dim) + " is " + std::to_string(found) + "; expected at most " +
                          std::to_string(most));
    }

    static std::vector<double> product(const std::vector<double> &x, const Tensor &weight) {
        std::vector<double> out;
        for (int64_t n = 0; n < weight.rows(); ++n) {
            double sum = 0;
            for (size_t k = 0; k < x.size(); ++k) sum += x[k] * weight.row(n)[k];
            out.push_back(sum);
        }
        return out;
    }
};

} // namespace

LAMINA_PLUGIN(LoraLinear)
