// A linear layer of each group of channels by itself. README.md has the maths.
#include <lamina/plugin/product.hpp>

#include "grouped_linear.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct GroupedLinear {
    static constexpr auto id = "grouped_linear";
    static constexpr auto summary = "each group of channels * transpose(its own matrix)";
    static constexpr auto source = "products that are absorbed into those of heads: DeepSeek-AI: DeepSeek-V2, "
                                   "arXiv:2405.04434, section 2.1.2";

    static constexpr std::array params{
        required(integer("groups", "equal parts of a row, such as heads", 1, 1)),
    };
    static constexpr std::array inputs{
        input("x", "... groups*K", "rows of K values for each group"),
    };
    static constexpr std::array weights{
        in_blocks(weight("weight", "groups N K", "of each group one row for each output value")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... groups*N", "rows of N values for each group")),
    };

    static constexpr auto work = "2*K";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("sums in registers, no shared memory"),
        variant("tiled", "tiles of 32 or 64 rows in shared memory; up to 8 rows: invocations along K", 0),
        variant("subgroup", "up to 8 rows: invocations along K, their sums joined by subgroups first", subgroup_sums),
    };
    enum Variant : uint32_t { in_registers, in_tiles, by_subgroup };
    static constexpr std::array tolerances{
        tolerance(1e-5, 4e-6), // all as linear
        tolerance(2e-3, 1e-3, LAMINA_F16),
        tolerance(1e-1, 1e-2, LAMINA_Q8_0),
    };
    static constexpr std::array cases{
        "B=1 T=1 K=1 N=1 groups=1",
        "B=2 T=9 K=64 N=48 groups=4",
        "B=2 T=37 K=33 N=65 groups=3 weights=f16",
        "B=1 T=1 K=128 N=131 groups=5 weights=bf16",
        "B=3 T=41 K=68 N=7 groups=2",
        "B=1 T=3 K=96 N=35 groups=6 weights=q8_0",
        "B=1 T=67 K=64 N=130 groups=2 weights=q4_0",
        "B=1 T=9 K=256 N=5 groups=3 weights=q6_k",
        "B=1 T=2 K=512 N=9 groups=4 weights=q4_k",
        "B=2 T=5 K=192 N=96 groups=20 x=large",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
        const auto groups = static_cast<size_t>(weight.dim(0)), inner = static_cast<size_t>(weight.cols()),
                   cols = static_cast<size_t>(weight.dim(1));
        for (const int64_t r : call.wanted(y))
            for (size_t n = 0; n < groups * cols; ++n) {
                const std::span<const float> in = x.row(r).subspan(n / cols * inner, inner),
                                             row = weight.row(static_cast<int64_t>(n));
                double sum = 0;
                for (size_t k = 0; k < inner; ++k) sum += static_cast<double>(in[k]) * row[k];
                y.row(r)[n] = static_cast<float>(sum);
            }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), y = call.out("y");
        const int64_t rows = x.rows(), block = detail::rows_per_binding(call, rows, std::max(x.cols(), y.cols()));
        for (int64_t first = 0; first < rows; first += block)
            plan_rows(call, plan, first, std::min(block, rows - first));
    }

  private:
    // How a variant computes rows of a group: the kernel, and the tile of sums of one of its workgroups.
    struct Tiles {
        uint32_t kernel;
        int64_t rows, cols;
    };
    static Tiles tiles_of(uint32_t variant, int64_t rows, const Tensor &weight) {
        using namespace lamina_kernels;
        const auto form = [&](uint32_t ordinary, uint32_t vec4, uint32_t blocks) {
            return weight.in_blocks() ? blocks : weight.cols() % 4 == 0 ? vec4 : ordinary;
        };
        const bool few = rows <= static_cast<int64_t>(LAMINA_FEW_ROWS);
        // lavapipe ends every loop after 65,535 rounds.
        const int64_t steps = weight.in_blocks() ? 0 : weight.cols() / (weight.cols() % 4 == 0 ? 4 : 1);
        if (variant == in_registers && steps <= 65'535)
            return {form(grouped_linear_registers, grouped_linear_registers_vec4, grouped_linear_registers_blocks),
                    detail::tile_rows(rows), LAMINA_REGISTER_COLS};
        if (variant == by_subgroup) {
            if (!few) throw Unsupported("it takes at most 8 rows");
            return {form(grouped_linear_few_rows_subgroup, grouped_linear_few_rows_subgroup_vec4,
                         grouped_linear_few_rows_subgroup_blocks),
                    rows, LAMINA_FEW_COLS};
        }
        if (few || variant == in_registers)
            return {form(grouped_linear_few_rows, grouped_linear_few_rows_vec4, grouped_linear_few_rows_blocks),
                    std::min<int64_t>(rows, LAMINA_FEW_ROWS), LAMINA_FEW_COLS};
        return {form(grouped_linear_tiled, grouped_linear_tiled_vec4, grouped_linear_tiled_blocks), rows > 32 ? 64 : 32,
                rows > 32 ? 64 : 128};
    }

    static void plan_rows(const Call &call, Plan &plan, int64_t first_row, int64_t rows) {
        const Tensor x_all = call.in("x"), y_all = call.out("y"), weight = call.weight("weight");
        const int64_t groups = weight.dim(0), cols = weight.dim(1), inner = weight.cols();
        (void)u32(rows * std::max(x_all.cols(), y_all.cols())); // the kernels count elements in 32 bits
        const lamina_ref x = detail::rows_of(plan.in("x"), first_row, rows, x_all.cols() * 4),
                         y = detail::rows_of(plan.out("y"), first_row, rows, y_all.cols() * 4);
        const Tiles tiles = tiles_of(plan.variant, rows, weight);
        for (const Window &w : plan.windows(plan.weight("weight"), groups, cols * weight.row_bytes())) {
            (void)u32(w.count * cols * inner);
            const struct {
                detail::ProductSizes sizes;
                uint32_t first, count, groups, tile_rows;
            } push{{u32(rows), u32(inner), u32(cols), 0, u32(cols), u32(inner), LAMINA_NONE},
                   u32(w.first),
                   u32(w.count),
                   u32(groups),
                   u32(tiles.rows)};
            plan.dispatch(tiles.kernel, plan.spread(ceil_div(rows, tiles.rows) * w.count * ceil_div(cols, tiles.cols)),
                          {x, w.ref, x, x, y}, push, // neither bias nor Z
                          {{LAMINA_OF_WEIGHT, dtype_of(weight)}, {LAMINA_OF_TILE_ROWS, u32(tiles.rows)}});
        }
    }
};

} // namespace

LAMINA_PLUGIN(GroupedLinear)
