// The product that most layers are made of: Y = act(X Wᵀ + b), then + Z or * Z. Its plan and its reference.
//
// A layer uses it in three places. Its shader folder holds one small file for each way to form the sums:
//
//     project.comp            #include "common/product_registers.glsl"                    the baseline
//     project_vec4.comp       #define VEC4 and the same include                           K a multiple of 4
//     project_tiled.comp      #include "common/product_tiled.glsl"                        for GPUs
//     project_few_rows.comp   #include "common/product_few_rows.glsl"                     for GPUs, up to 8 rows
//
// Its plan() names the weights, and the rest follows from their shapes:
//
//     static constexpr ProductKernels project{lamina_kernels::project, lamina_kernels::project_vec4, ...};
//     plan_product(call, plan, project, {.rows = x.rows(), .x = plan.in("x"), .weight = "weight", .bias = "bias",
//                                        .y = plan.out("y"), .tiled = plan.variant == 1});
//
// Its reference() calls product_reference() row by row.
#pragma once

#include <lamina/plugin.hpp>

#include <cmath>
#include <numbers>

namespace lamina::plugin {

// ---- Activations ----

enum class Activation : uint32_t { none = 0, relu = 1, gelu = 2, gelu_tanh = 3, silu = 4 }; // as in activation.glsl

// A layer's parameter, and its value in a call.
inline constexpr lamina_param activation_param =
    choice("activation", "between the products; gelu is the erf form", "relu|gelu|gelu_tanh|silu");
inline Activation activation_of(const Call &call) { return static_cast<Activation>(call.integer("activation") + 1); }

inline double activate(Activation activation, double x) {
    switch (activation) {
    case Activation::none:
        return x;
    case Activation::relu:
        return x < 0 ? 0 : x;
    case Activation::gelu:
        return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:
        return x * 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
        return x / (1 + std::exp(-x));
    }
    throw std::logic_error("an activation that does not exist");
}

// ---- The reference ----

// One row of X Wᵀ + b, accumulated in double. W (N, K); b (N), or left out; x K values of any floating-point type.
template <class Row> std::vector<double> product_reference(const Row &x, const Tensor &weight, const Tensor &bias) {
    std::vector<double> y;
    for (int64_t n = 0; n < weight.rows(); ++n) {
        const auto w = weight.row(n);
        double sum = bias ? bias.f32()[static_cast<size_t>(n)] : 0;
        for (size_t k = 0; k < w.size(); ++k) sum += static_cast<double>(x[k]) * w[k];
        y.push_back(sum);
    }
    return y;
}

// ---- The plan ----

enum class Combine : uint32_t { none = 0, add = 1, multiply = 2 }; // as in product.glsl

struct ProductKernels { // a layer's kernels, by their place in lamina_kernels
    uint32_t registers, registers_vec4, tiled, few_rows;
};

struct Product {
    int64_t rows = 0;        // M
    lamina_ref x;            // (M, K) f32
    std::string_view weight; // the layer's weight (N, K)
    std::string_view bias;   // the layer's weight (N); it may be left out of the call
    lamina_ref y;            // (M, N) f32
    Activation activation = Activation::none;
    Combine combine = Combine::none;
    lamina_ref z{};     // (M, N) f32, when something is combined
    bool tiled = false; // the sums by way of shared memory, for GPUs; false: in registers, for any device
};

namespace detail {

// `count` rows from row `first` of a matrix whose rows are `row_bytes` long.
inline lamina_ref rows_of(lamina_ref matrix, int64_t first, int64_t count, int64_t row_bytes) {
    matrix.offset += static_cast<uint64_t>(first * row_bytes);
    matrix.bytes = static_cast<uint64_t>(count * row_bytes);
    return matrix;
}

// How many rows of X and Y a dispatch may bind: all, or as many times 64 as fit (64 rows of 32-bit values are aligned
// for every device).
inline int64_t rows_per_binding(const Call &call, int64_t rows, int64_t widest) {
    const int64_t fit = static_cast<int64_t>(call.device().max_binding_bytes) / (4 * std::max<int64_t>(widest, 1));
    if (rows <= fit) return rows;
    if (fit < 64)
        throw Unsupported("64 rows of " + std::to_string(widest) + " values: a block of " +
                          std::to_string(256 * widest) + " bytes exceeds the device's binding limit of " +
                          std::to_string(call.device().max_binding_bytes) + ": use narrower layers");
    return fit / 64 * 64;
}

// Rows in a register tile: 16 at most, and as few as cover the rows in the same number of tiles; few distinct values,
// since each is a pipeline of its own.
inline int64_t tile_rows(int64_t rows) {
    const int64_t even = ceil_div(rows, ceil_div(rows, 16));
    return even <= 2 ? even : ceil_div(even, 4) * 4;
}

} // namespace detail

// Emits the dispatches of one product.
// Splits what exceeds the device's binding limit. Throws Unsupported where that cannot be done.
inline void plan_product(const Call &call, Plan &plan, const ProductKernels &kernels, const Product &product) {
    const Tensor weight = call.weight(product.weight);
    const int64_t cols = weight.rows(), inner = weight.cols();
    if (product.rows == 0 || cols == 0) return;
    constexpr int64_t most_few = 8;
    const lamina_spec of_weight{0, dtype_of(weight)}, of_bias{1, dtype_of(call.weight(product.bias))};
    const lamina_spec activation{2, static_cast<uint32_t>(product.activation)};
    const lamina_spec combine{3, static_cast<uint32_t>(product.combine)};

    const int64_t block = detail::rows_per_binding(call, product.rows, std::max(inner, cols));
    for (int64_t first = 0; first < product.rows; first += block) {
        const int64_t rows = std::min(block, product.rows - first);
        const auto part = [&](lamina_ref ref, int64_t row_values) {
            return block == product.rows ? ref : detail::rows_of(ref, first, rows, row_values * 4);
        };
        const lamina_ref x = part(product.x, inner), y = part(product.y, cols);
        // What is not used is bound to x, which every kernel only reads.
        const lamina_ref z = product.combine == Combine::none ? x : part(product.z, cols);

        for (const Window &w : plan.windows(plan.weight(product.weight), cols, weight.row_bytes())) {
            const struct {
                uint32_t rows, inner, cols, first_col, y_cols;
            } push{u32(rows), u32(inner), u32(w.count), u32(w.first), u32(cols)};
            const std::initializer_list<lamina_ref> bind{x, w.ref, plan.weight(product.bias), z, y};
            if (!product.tiled || rows <= most_few) {
                const int64_t tile = product.tiled ? rows : detail::tile_rows(rows);
                const int64_t tile_cols = product.tiled ? 4 : 128;
                const uint32_t kernel = product.tiled    ? kernels.few_rows
                                        : inner % 4 == 0 ? kernels.registers_vec4
                                                         : kernels.registers;
                plan.dispatch(kernel, plan.spread(ceil_div(rows, tile) * ceil_div(w.count, tile_cols)), bind, push,
                              {of_weight, of_bias, activation, combine, {4, u32(tile)}});
            } else {
                plan.dispatch(kernels.tiled, plan.spread(ceil_div(rows, 64) * ceil_div(w.count, 64)), bind, push,
                              {of_weight, of_bias, activation, combine});
            }
        }
    }
}

} // namespace lamina::plugin
