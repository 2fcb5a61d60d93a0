// Adds learned positions of a grid, resampled to a grid of another size. README.md has the maths.
#include <lamina/plugin.hpp>

#include "interpolated_positions.kernels.hpp"

#include <algorithm>
#include <array>

namespace {
using namespace lamina::plugin;

constexpr int64_t longest_side = 65536; // so that kernels compute places in 32 bits

// Between which two rows of the table a place lies, and how far it is from the first towards the second.
struct Between {
    int64_t first, second;
    double part;

    static Between of(int64_t coordinate, int64_t size, int64_t side) {
        const int64_t steps = coordinate * (side - 1), of_step = std::max<int64_t>(size - 1, 1);
        if (steps / of_step >= side - 1) return {side - 1, side - 1, 0};
        return {steps / of_step, steps / of_step + 1,
                static_cast<double>(steps % of_step) / static_cast<double>(of_step)};
    }
};

struct InterpolatedPositions {
    static constexpr auto id = "interpolated_positions";
    static constexpr auto summary = "x + learned positions of a square grid, resampled to a grid of another size";
    static constexpr auto source = "Dosovitskiy et al.: An Image is Worth 16x16 Words, arXiv:2010.11929, section 3.2";

    static constexpr std::array inputs{
        input("x", "B N C", "rows, such as patches of an image"),
        indices("coordinates", "B N 2", "0 65536", "the row and the column of each in the grid"),
        indices("sizes", "B 2", "1 65537", "how many rows and columns the grid has"),
    };
    static constexpr std::array weights{
        weight("table", "S S C", "positions of the grid that the model was trained with"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B N C", "x, with their positions")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(2e-6, 2e-6)};
    static constexpr std::array cases{
        "B=2 N=5 S=4 C=7",
        "B=1 N=1 S=1 C=1",
        "B=3 N=17 S=1 C=5 weights=f16",
        "B=2 N=9 S=2 C=33 sizes=one weights=bf16",
        "B=1 N=67 S=16 C=64",
        "B=2 N=37 S=5 C=130 coordinates=max",
        "B=1 N=3 S=7 C=9 coordinates=zeros sizes=max",
    };

    static void check(const Call &call) {
        if (call.weight("table").dim(0) > longest_side)
            throw Invalid("the grid of the table has " + std::to_string(call.weight("table").dim(0)) +
                          " rows; expected at most " + std::to_string(longest_side));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), coordinates = call.in("coordinates"), sizes = call.in("sizes"),
                     table = call.weight("table"), y = call.out("y");
        const int64_t side = table.dim(0);
        for (const int64_t r : call.wanted(y)) {
            const auto place = coordinates.i32().subspan(static_cast<size_t>(2 * r), 2),
                       size = sizes.i32().subspan(static_cast<size_t>(2 * (r / y.dim(1))), 2);
            const Between down = Between::of(place[0], size[0], side), across = Between::of(place[1], size[1], side);
            const auto at = [&](int64_t row, int64_t column) { return table.row(row * side + column); };
            const std::array corners{at(down.first, across.first), at(down.first, across.second),
                                     at(down.second, across.first), at(down.second, across.second)};
            const auto from = x.row(r), to = y.row(r);
            for (size_t c = 0; c < to.size(); ++c) {
                const double above = corners[0][c] + across.part * (double{corners[1][c]} - corners[0][c]),
                             below = corners[2][c] + across.part * (double{corners[3][c]} - corners[2][c]);
                to[c] = static_cast<float>(from[c] + above + down.part * (below - above));
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor y = call.out("y"), table = call.weight("table");
        const struct {
            uint32_t size, columns, rows, side; // elements: of y; channels; rows of a sequence; of the table's grid
        } push{u32(y.size()), u32(y.cols()), u32(y.dim(1)), u32(table.dim(0))};
        (void)u32(table.size()); // the kernel counts its elements in 32 bits
        plan.dispatch(lamina_kernels::interpolated_positions, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("x"), plan.in("coordinates"), plan.in("sizes"), plan.weight("table"), plan.out("y")},
                      push, {{0, dtype_of(table)}});
    }
};

} // namespace

LAMINA_PLUGIN(InterpolatedPositions)
