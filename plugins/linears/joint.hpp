// Plans products of the same rows in one dispatch: shaders/joint. Include it after the kernels of the layer, which are
// listed in joint.cmake.
#pragma once

#include <lamina/plugin/product.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace joint {

using namespace lamina::plugin;

inline constexpr std::array variants{
    baseline("sums in registers, no shared memory; for software drivers"),
    variant("few_rows", "up to 8 rows: invocations along K", 0),
    variant("subgroup", "up to 8 rows: invocations along K, their sums joined by subgroups first", subgroup_sums),
};
enum : uint32_t { in_registers, few_rows, by_subgroup };

struct Matrix {
    std::string_view weight, bias; // (N, K); (N), which may be left out of the call
    lamina_ref y;                  // (rows, N)
};

// What is done beside the products.
struct Around {
    bool norm = false; // root mean square, of X
    std::string_view factors{};
    double eps = 0, weight_offset = 0;
    bool gated = false; // act(A x) * (B x); else the products are apart
    Activation activation = Activation::none;
    bool add = false; // z to the first product
    lamina_ref z{};   // (rows, N)
};

// Few distinct values, because each needs a pipeline.
inline int64_t tile_rows(int64_t rows) {
    const int64_t even = ceil_div(rows, ceil_div(rows, 8));
    return even <= 2 ? even : ceil_div(even, 4) * 4;
}

// How many invocations share the work along K, of which each takes so many values at a time. A GPU needs many; shared
// memory has room for few rows of them.
inline int64_t lanes_of(int64_t groups, int64_t rows, int64_t inner, int64_t values) {
    int64_t lanes = 64;
    while (lanes < 256 && lanes * rows < 512 && inner >= 2 * lanes * values &&
           groups * lanes < lamina::plugin::detail::busy_invocations)
        lanes *= 2;
    return lanes;
}

// Emits the dispatch for up to three matrices. Throws Unsupported where it cannot.
inline void plan(const Call &call, Plan &plan, lamina_ref x, int64_t rows, std::span<const Matrix> matrices,
                 const Around &around) {
    const Tensor first = call.weight(matrices.front().weight);
    const int64_t inner = first.cols();
    if (inner % 4 != 0) throw Unsupported("it takes rows of a multiple of 4 values");
    const int64_t longest = 4 * (65'535 / (around.gated ? 2 : 1)); // lavapipe ends loops that are longer together
    if (inner > longest) throw Unsupported("it takes rows of up to " + std::to_string(longest) + " values");
    if (rows == 0) throw Unsupported("it takes at least one row");
    if (plan.variant != in_registers && rows > LAMINA_FEW_ROWS) throw Unsupported("it takes at most 8 rows");
    const auto most = static_cast<int64_t>(call.device().max_binding_bytes);
    std::array<lamina_ref, 3> w{}, b{}, y{};
    std::array<uint32_t, 3> w_dtype{}, b_dtype{}, cols{};
    int64_t groups = 0;
    const int64_t tile_cols = plan.variant == in_registers ? LAMINA_REGISTER_COLS
                              : around.gated               ? LAMINA_FEW_COLS / 2
                                                           : LAMINA_FEW_COLS;
    for (size_t i = 0; i < w.size(); ++i) {
        const Matrix &m = matrices[std::min(i, matrices.size() - 1)]; // what is bound and not used is any of them
        const Tensor weight = call.weight(m.weight);
        if (weight.in_blocks() != first.in_blocks()) throw Unsupported("it takes weights all in blocks, or none");
        if (weight.rows() == 0) throw Unsupported("it takes weights with columns");
        if (std::max({weight.rows() * weight.row_bytes(), rows * inner * 4, rows * weight.rows() * 4}) > most)
            throw Unsupported("it takes tensors that a binding of the device holds as a whole");
        w[i] = plan.weight(m.weight), b[i] = plan.weight(m.bias), y[i] = m.y;
        w_dtype[i] = dtype_of(weight), b_dtype[i] = dtype_of(call.weight(m.bias));
        if (i >= matrices.size()) continue;
        cols[i] = u32(weight.rows());
        if (i == 0 || !around.gated) groups += ceil_div(weight.rows(), tile_cols);
    }
    const int64_t tile = tile_rows(rows);
    const struct {
        uint32_t rows, inner, cols[3];
        float eps, weight_offset;
    } push{u32(rows),
           u32(inner),
           {cols[0], cols[1], cols[2]},
           static_cast<float>(around.eps),
           static_cast<float>(around.weight_offset)};
    const bool blocks = first.in_blocks();
    const uint32_t kernel = plan.variant == in_registers
                                ? (blocks ? lamina_kernels::joint_registers_blocks : lamina_kernels::joint_registers)
                            : plan.variant == few_rows
                                ? (blocks ? lamina_kernels::joint_few_rows_blocks : lamina_kernels::joint_few_rows)
                            : blocks ? lamina_kernels::joint_few_rows_subgroup_blocks
                                     : lamina_kernels::joint_few_rows_subgroup;
    const bool factors = around.norm && static_cast<bool>(call.weight(around.factors));
    const std::initializer_list<lamina_ref> bind{x,    around.norm ? plan.weight(around.factors) : b[0],
                                                 w[0], w[1],
                                                 w[2], b[0],
                                                 b[1], b[2],
                                                 y[0], y[1],
                                                 y[2], around.add ? around.z : x};
    const auto emit = [&](int64_t workgroups, auto... more) {
        plan.dispatch(kernel, plan.spread(workgroups), bind, push,
                      {{0, factors ? call.weight(around.factors).dtype() : 0},
                       {1, w_dtype[0]},
                       {2, w_dtype[1]},
                       {3, w_dtype[2]},
                       {4, b_dtype[0]},
                       {5, b_dtype[1]},
                       {6, b_dtype[2]},
                       {7, u32(plan.variant == in_registers ? tile : rows)},
                       {8, around.norm},
                       {9, around.gated},
                       {10, static_cast<uint32_t>(around.activation)},
                       {11, around.add},
                       more...});
    };
    if (plan.variant == in_registers) return emit(groups * ceil_div(rows, tile));
    const uint32_t lanes = u32(lanes_of(groups, rows, inner, blocks ? 32 : 8));
    emit(groups, lamina_spec{12, lanes}, lamina_spec{13, u32(lanes * rows)},
         lamina_spec{14, u32(lanes * ceil_div(rows, 4))});
}

} // namespace joint
