// The matrix product of most layers: Y = act(X Wᵀ + b), then + Z or * Z. Its plan and its reference.
//
// A layer with lamina_add_layer(NAME PRODUCT) in its CMakeLists.txt uses it in three places. Its variants are those of
// the product. Its plan() names the weights, and the rest follows from their shapes:
//
//     static constexpr auto variants = product_variants;
//     plan_product(call, plan, lamina_kernels::product, {.rows = x.rows(), .x = plan.in("x"), .weight = "weight",
//                                                        .bias = "bias", .y = plan.out("y")});
//
// Its reference() calls product_reference() row by row. The kernels are in shaders/product/.
#pragma once

#include <lamina/plugin.hpp>
#include <lamina/plugin/matrix.hpp>
#include <lamina/plugin/product_numbers.h>
#include <lamina/plugin/product_packed.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace lamina::plugin {

// ---- Activations ----

enum class Activation : uint32_t {
    none = LAMINA_NONE,
    relu = LAMINA_RELU,
    gelu = LAMINA_GELU,
    gelu_tanh = LAMINA_GELU_TANH,
    silu = LAMINA_SILU,
    tanh = LAMINA_TANH,
    quick_gelu = LAMINA_QUICK_GELU,
    sigmoid = LAMINA_SIGMOID,
    relu2 = LAMINA_RELU2
};

// The names of all but none, in this order, as a parameter of a layer has them.
#define LAMINA_ACTIVATIONS "relu|gelu|gelu_tanh|silu|tanh|quick_gelu|sigmoid|relu2"

// A layer's parameter, and its value in a call.
inline constexpr lamina_param activation_param =
    choice("activation", "between the products; gelu is the erf form", LAMINA_ACTIVATIONS);
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
    case Activation::tanh:
        return std::tanh(x);
    case Activation::quick_gelu:
        return x / (1 + std::exp(-1.702 * x));
    case Activation::sigmoid:
        return 1 / (1 + std::exp(-x));
    case Activation::relu2:
        return x < 0 ? 0 : x * x;
    }
    throw std::logic_error("unknown activation");
}

// ---- The reference ----

// One row of X Wᵀ + b, accumulated in double. W (N, K); b (N), or left out; x K values of any floating-point type.
// Several sums grow side by side, each in its own order, because an addition has to wait for the one before it.
template <class Row> std::vector<double> product_reference(const Row &x, const Tensor &weight, const Tensor &bias) {
    constexpr int64_t together = 8;
    std::vector<double> y;
    for (int64_t first = 0; first < weight.rows(); first += together) {
        const int64_t count = std::min(together, weight.rows() - first);
        std::array<const float *, together> w{};
        std::array<double, together> sums{};
        for (size_t i = 0; i < together; ++i) {
            const int64_t n = std::min(first + static_cast<int64_t>(i), weight.rows() - 1);
            w[i] = weight.row(n).data();
            sums[i] = bias ? bias.f32()[static_cast<size_t>(n)] : 0;
        }
        for (size_t k = 0; k < static_cast<size_t>(weight.cols()); ++k)
            for (size_t i = 0; i < together; ++i) sums[i] += static_cast<double>(x[k]) * w[i][k];
        y.insert(y.end(), sums.begin(), sums.begin() + count);
    }
    return y;
}

// ---- The ways to compute the sums ----

// Indices of the kernels, some of which exist for several ways to read weights. lamina_add_layer(NAME PRODUCT) makes
// the list.
struct ProductKernels {
    uint32_t few_rows, few_rows_vec4, few_rows_blocks;
    uint32_t few_rows_subgroup, few_rows_subgroup_vec4, few_rows_subgroup_blocks;
    uint32_t halves, join;
    uint32_t matrix, matrix_vec4, matrix_blocks;
    uint32_t pack, packed, packed_blocks, pad;
    uint32_t registers, registers_vec4, registers_blocks;
    uint32_t scales, scales_blocks;
    uint32_t tiled, tiled_vec4, tiled_blocks;
    uint32_t tiled_large, tiled_large_vec4, tiled_large_blocks;
};

inline constexpr std::array product_variants{
    baseline("sums in registers, no shared memory"),
    variant("tiled", "tiles of 64 x 64 sums in shared memory; up to 8 rows: invocations along K", 0),
    variant("large", "more than 64 rows and columns: as tiled, with tiles of 128 x 128 sums", 0),
    variant("split", "as tiled, for few tiles and a long K: K in up to 8 parts, then added", 0),
    variant("subgroup", "up to 8 rows: invocations along K, their sums joined by subgroups first", subgroup_sums),
    variant("packed",
            "as baseline, with few loads of 16 bytes: X shared in subgroups, weights packed once if necessary",
            subgroup_shuffles),
    variant("matrix", "more than 8 rows: cooperative matrices, each value as two halves", matrix_products),
    variant("half", "more than 8 rows: cooperative matrices, each value as one half", matrix_products, LAMINA_F16),
};
enum ProductVariant : uint32_t {
    in_registers,
    in_tiles,
    in_large_tiles,
    in_parts,
    by_subgroup,
    packed,
    by_matrices,
    by_halves
};

// ---- The plan ----

enum class Combine : uint32_t { none = LAMINA_NONE, add = LAMINA_ADD, multiply = LAMINA_MULTIPLY };

struct Product {
    int64_t rows = 0;        // M
    lamina_ref x;            // (M, K) f32
    std::string_view weight; // the layer's weight (N, K)
    std::string_view bias;   // the layer's weight (N); it may be left out of the call
    lamina_ref y;            // (M, N) f32
    Activation activation = Activation::none;
    Combine combine = Combine::none;
    lamina_ref z{}; // (M, N) f32, unless combine is none
};

namespace detail {

// `count` rows from row `first` of a matrix whose rows are `row_bytes` long.
inline lamina_ref rows_of(lamina_ref matrix, int64_t first, int64_t count, int64_t row_bytes) {
    matrix.offset += static_cast<uint64_t>(first * row_bytes);
    matrix.bytes = static_cast<uint64_t>(count * row_bytes);
    return matrix;
}

// How many rows of X and Y a dispatch may bind: all, or the largest multiple of 64 that fits (64 rows of 32-bit values
// are aligned on every device).
inline int64_t rows_per_binding(const Call &call, int64_t rows, int64_t widest) {
    const int64_t fit = static_cast<int64_t>(call.device().max_binding_bytes) / (4 * std::max<int64_t>(widest, 1));
    if (rows <= fit) return rows;
    if (fit < 64)
        throw Unsupported("64 rows of " + std::to_string(widest) + " values: a block of " +
                          std::to_string(256 * widest) + " bytes exceeds the device's binding limit of " +
                          std::to_string(call.device().max_binding_bytes) + ": use narrower layers");
    return fit / 64 * 64;
}

// Rows in a register tile: at most 16, and as few as cover the rows with the same number of tiles. There are few
// distinct values, because each needs a pipeline.
inline int64_t tile_rows(int64_t rows) {
    const int64_t even = ceil_div(rows, ceil_div(rows, LAMINA_REGISTER_ROWS));
    return even <= 2 ? even : ceil_div(even, 4) * 4;
}

// How a variant computes a product: the kernel, the tile of Y that one of its workgroups computes, and the part of K.
struct Tiles {
    uint32_t kernel;
    int64_t rows, cols, part;
    bool suits = true; // false: these are those of in_tiles, because the variant has nothing better for this product
};

inline constexpr uint32_t large_bytes = 2 * 16 * (LAMINA_LARGE_ROWS + 4) * 4; // of shared memory: product_tiled.comp

// A GPU with so many invocations has enough to do. A part of K is a multiple of 256, the largest block, and longer than
// the work of adding it to the others: 16 rounds of product_tiled.comp, or 4 of product_few_rows.comp.
inline constexpr int64_t busy_invocations = 65'536, most_parts = 8;
inline int64_t part_of(int64_t inner, int64_t invocations, int64_t least_part) {
    const int64_t parts = std::min({most_parts, inner / least_part, ceil_div(busy_invocations, invocations)});
    return parts < 2 ? inner : ceil_div(ceil_div(inner, parts), 256) * 256;
}

inline Tiles tiles_of(uint32_t variant, const ProductKernels &k, const lamina_device &device, int64_t rows,
                      const Tensor &weight) {
    const auto which = [&](uint32_t ordinary, uint32_t vec4, uint32_t blocks) { // four values at a time if K allows it
        return weight.in_blocks() ? blocks : weight.cols() % 4 == 0 ? vec4 : ordinary;
    };
    const int64_t cols = weight.rows(), inner = weight.cols();
    const bool few = rows <= LAMINA_FEW_ROWS;
    if (variant == in_registers) {
        // A register tile takes a step at a time, and lavapipe ends every loop after 65,535 rounds.
        const int64_t steps = weight.in_blocks() ? 0 : inner / (inner % 4 == 0 ? 4 : 1);
        if (steps <= 65'535)
            return {which(k.registers, k.registers_vec4, k.registers_blocks), tile_rows(rows), LAMINA_REGISTER_COLS,
                    inner};
        return {which(k.few_rows, k.few_rows_vec4, k.few_rows_blocks), std::min<int64_t>(rows, LAMINA_FEW_ROWS),
                LAMINA_FEW_COLS, inner};
    }
    if (variant == by_subgroup) {
        if (!few) throw Unsupported("it takes at most 8 rows");
        return {which(k.few_rows_subgroup, k.few_rows_subgroup_vec4, k.few_rows_subgroup_blocks), rows, LAMINA_FEW_COLS,
                inner};
    }
    Tiles tiles{which(k.few_rows, k.few_rows_vec4, k.few_rows_blocks), rows, LAMINA_FEW_COLS, inner};
    int64_t workgroup = 64, least_part = 1024;
    if (!few) {
        const bool large = variant == in_large_tiles && rows > 64 && cols > 64 && device.shared_bytes >= large_bytes;
        if (large)
            tiles = {which(k.tiled_large, k.tiled_large_vec4, k.tiled_large_blocks), 128, 128, inner};
        else
            tiles = {which(k.tiled, k.tiled_vec4, k.tiled_blocks), rows > 32 ? 64 : 32, rows > 32 ? 64 : 128, inner};
        workgroup = 256, least_part = 256;
    }
    if (variant == in_large_tiles) tiles.suits = tiles.rows == LAMINA_LARGE_ROWS;
    if (variant == in_parts) {
        const int64_t workgroups = ceil_div(rows, tiles.rows) * ceil_div(cols, tiles.cols);
        tiles.part = part_of(inner, workgroups * workgroup, least_part), tiles.suits = tiles.part < inner;
    }
    return tiles;
}

// The push constants of the kernels of products.
struct ProductSizes {
    uint32_t rows, inner, cols, first_col, y_cols, part_inner, combine;
};

inline void plan_packed(const Call &call, Plan &plan, const ProductKernels &kernels, const Product &product) {
    const Tensor weight = call.weight(product.weight);
    if (weight.in_blocks() && weight.dtype() != LAMINA_Q8_0)
        throw Unsupported("of weights in blocks, only q8_0 can be packed");
    const int64_t cols = weight.rows(), inner = packed_inner(weight);
    const uint32_t share = packed_share(call.device());
    const std::vector<Window> windows = packed_windows(call, plan, product.weight, kernels.pad, kernels.pack);
    const bool pad = inner != weight.cols();
    const lamina_ref padded = pad ? plan.scratch(product.rows * inner * 4) : product.x;
    // GPUs, which have long subgroups, have no registers for more; others have fast memory for them.
    const int64_t most_rows = call.device().subgroup <= LAMINA_PACKED_SHARE ? LAMINA_REGISTER_ROWS
                              : weight.in_blocks()                          ? 4
                                                                            : 8;
    const int64_t block = rows_per_binding(call, product.rows, std::max(inner, cols));
    for (int64_t first = 0; first < product.rows; first += block) {
        const int64_t rows = std::min(block, product.rows - first), tile = std::min(tile_rows(rows), most_rows);
        const auto part = [&](lamina_ref ref, int64_t row_values) {
            return block == product.rows ? ref : rows_of(ref, first, rows, row_values * 4);
        };
        const lamina_ref x = part(padded, inner), y = part(product.y, cols);
        const lamina_ref z = product.combine == Combine::none ? x : part(product.z, cols);
        if (pad) {
            const Packing push{u32(rows), u32(weight.cols() * 2), u32(inner / 4), 0};
            plan.dispatch(kernels.pad, plan.spread(ceil_div(push.invocations(1), 64)),
                          {part(product.x, weight.cols()), x}, push);
        }
        for (const Window &w : windows) {
            const ProductSizes push{u32(rows),
                                    u32(inner),
                                    u32(w.count),
                                    u32(w.first),
                                    u32(cols),
                                    u32(inner),
                                    static_cast<uint32_t>(product.combine)};
            plan.dispatch(weight.in_blocks() ? kernels.packed_blocks : kernels.packed,
                          plan.spread(ceil_div(rows, tile) * ceil_div(w.count, LAMINA_REGISTER_COLS)),
                          {x, w.ref, plan.weight(product.bias), z, y}, push,
                          {{LAMINA_OF_WEIGHT, dtype_of(weight)},
                           {LAMINA_OF_BIAS, dtype_of(call.weight(product.bias))},
                           {LAMINA_OF_ACTIVATION, static_cast<uint32_t>(product.activation)},
                           {LAMINA_OF_TILE_ROWS, u32(tile)},
                           {LAMINA_OF_SHARE, share}});
        }
    }
}

// The variants with cooperative matrices. The scales of weights are computed once per session; X is scaled and split in
// every run.
inline void plan_matrices(const Call &call, Plan &plan, const ProductKernels &kernels, const Product &product) {
    if (product.rows <= LAMINA_FEW_ROWS) throw Unsupported("it takes more than 8 rows");
    const Tensor weight = call.weight(product.weight);
    const int64_t cols = weight.rows(), inner = weight.cols();
    const bool one_product = plan.variant == by_halves;
    const bool w_in_one_half = weight.dtype() == LAMINA_F16 || weight.dtype() == LAMINA_BF16;
    const MatrixTiles tiles(call.device(), one_product ? 2 : w_in_one_half ? 3 : 4);
    const uint32_t kernel = weight.in_blocks() ? kernels.matrix_blocks
                            : inner % 4 == 0   ? kernels.matrix_vec4
                                               : kernels.matrix;
    const std::vector<Window> windows = plan.windows(plan.weight(product.weight), cols, weight.row_bytes());
    const lamina_ref w_scales = plan.prepared(cols * 4);
    for (const Window &w : windows) {
        const struct { uint32_t rows, inner, first_row; } push{u32(w.count), u32(inner), u32(w.first)};
        plan.prepare(weight.in_blocks() ? kernels.scales_blocks : kernels.scales, plan.spread(w.count),
                     {w.ref, w_scales}, push, {{LAMINA_OF_WEIGHT, dtype_of(weight)}});
    }

    const int64_t line =
        ceil_div(inner, LAMINA_MATRIX_MOST_K) * LAMINA_MATRIX_MOST_K; // of a row, with zeros at its end
    const int64_t block = rows_per_binding(call, product.rows, std::max(line, cols));
    const lamina_ref x_scales = plan.scratch(block * 4), halves = plan.scratch(block * line * (one_product ? 2 : 4));
    for (int64_t first = 0; first < product.rows; first += block) {
        const int64_t rows = std::min(block, product.rows - first);
        const auto part = [&](lamina_ref ref, int64_t row_values) {
            return block == product.rows ? ref : rows_of(ref, first, rows, row_values * 4);
        };
        const lamina_ref z = product.combine == Combine::none ? halves : part(product.z, cols);
        const struct { uint32_t rows, inner, line; } splitting{u32(rows), u32(inner), u32(line / 8)};
        plan.dispatch(kernels.halves, plan.spread(rows), {part(product.x, inner), x_scales, halves}, splitting,
                      {{0, one_product}});
        for (const Window &w : windows) {
            const struct {
                ProductSizes sizes;
                uint32_t activation;
            } push{{u32(rows), u32(inner), u32(w.count), u32(w.first), u32(cols), u32(inner),
                    static_cast<uint32_t>(product.combine)},
                   static_cast<uint32_t>(product.activation)};
            plan.dispatch(
                kernel, plan.spread(ceil_div(rows, LAMINA_MATRIX_TILE) * ceil_div(w.count, LAMINA_MATRIX_TILE)),
                {halves, w.ref, plan.weight(product.bias), z, part(product.y, cols), x_scales, w_scales}, push,
                {{LAMINA_OF_WEIGHT, dtype_of(weight)},
                 {LAMINA_OF_BIAS, dtype_of(call.weight(product.bias))},
                 {LAMINA_OF_WORKGROUP, tiles.workgroup},
                 {LAMINA_OF_MATRIX_M, tiles.shape.m},
                 {LAMINA_OF_MATRIX_N, tiles.shape.n},
                 {LAMINA_OF_MATRIX_K, tiles.shape.k},
                 {LAMINA_OF_MATRIX_DEPTH, tiles.depth},
                 {LAMINA_OF_ONE_PRODUCT, one_product}});
        }
    }
}

// The variants whose kernels read weights as they are. Returns whether the variant suits the product.
inline bool plan_tiles(const Call &call, Plan &plan, const ProductKernels &kernels, const Product &product) {
    const Tensor weight = call.weight(product.weight);
    const int64_t cols = weight.rows(), inner = weight.cols();
    const lamina_ref bias = plan.weight(product.bias);
    const lamina_spec weight_dtype{LAMINA_OF_WEIGHT, dtype_of(weight)};
    const lamina_spec bias_dtype{LAMINA_OF_BIAS, dtype_of(call.weight(product.bias))};
    const lamina_spec activation{LAMINA_OF_ACTIVATION, static_cast<uint32_t>(product.activation)};
    const auto combine = static_cast<uint32_t>(product.combine);
    bool suits = false;

    const int64_t block = rows_per_binding(call, product.rows, std::max(inner, cols));
    for (int64_t first = 0; first < product.rows; first += block) {
        const int64_t rows = std::min(block, product.rows - first);
        const Tiles tiles = tiles_of(plan.variant, kernels, call.device(), rows, weight);
        const lamina_spec tile_rows{LAMINA_OF_TILE_ROWS, u32(tiles.rows)};
        const int64_t parts = ceil_div(inner, tiles.part);
        suits = suits || tiles.suits;
        const auto part = [&](lamina_ref ref, int64_t row_values) {
            return block == product.rows ? ref : rows_of(ref, first, rows, row_values * 4);
        };
        const lamina_ref x = part(product.x, inner), y = part(product.y, cols);
        // An unused binding gets x, which kernels only read.
        const lamina_ref z = product.combine == Combine::none ? x : part(product.z, cols);

        for (const Window &w : plan.windows(plan.weight(product.weight), cols, weight.row_bytes())) {
            const Groups grid = plan.spread(parts * ceil_div(rows, tiles.rows) * ceil_div(w.count, tiles.cols));
            ProductSizes sizes{u32(rows), u32(inner), u32(w.count), u32(w.first), u32(cols), u32(tiles.part), combine};
            if (parts == 1) {
                plan.dispatch(tiles.kernel, grid, {x, w.ref, bias, z, y}, sizes,
                              {weight_dtype, bias_dtype, activation, tile_rows});
                continue;
            }
            // The parts are plain sums of this window's columns, which the second dispatch adds and finishes.
            const lamina_ref sums = plan.scratch(parts * rows * w.count * 4);
            sizes.first_col = 0, sizes.y_cols = sizes.cols, sizes.combine = LAMINA_NONE;
            plan.dispatch(tiles.kernel, grid, {x, w.ref, bias, x, sums}, sizes,
                          {weight_dtype, {LAMINA_OF_BIAS, 0}, {LAMINA_OF_ACTIVATION, LAMINA_NONE}, tile_rows});
            sizes = {u32(rows), u32(parts), u32(w.count), u32(w.first), u32(cols), u32(parts), combine};
            plan.dispatch(kernels.join, plan.spread(ceil_div(rows * w.count, 64)), {sums, w.ref, bias, z, y}, sizes,
                          {bias_dtype, activation});
        }
    }
    return suits;
}

} // namespace detail

// Emits the dispatches of a layer's products, in this order, for the plan's variant, which is one of product_variants.
// Splits matrices that exceed the device's binding limit. Throws Unsupported if that is not possible, or if the variant
// suits none of the products.
inline void plan_products(const Call &call, Plan &plan, const ProductKernels &kernels,
                          std::span<const Product> products) {
    bool suits = products.empty();
    for (const Product &product : products) {
        if (product.rows == 0 || call.weight(product.weight).rows() == 0) {
            suits = true;
        } else if (plan.variant == packed) {
            detail::plan_packed(call, plan, kernels, product), suits = true;
        } else if (plan.variant >= by_matrices) {
            detail::plan_matrices(call, plan, kernels, product), suits = true;
        } else {
            suits = detail::plan_tiles(call, plan, kernels, product) || suits;
        }
    }
    if (suits) return;
    throw Unsupported(plan.variant == in_parts ? "K is too short to be split, or there are enough tiles for a large GPU"
                                               : "it takes more than 64 rows and columns, and 17 KiB of shared memory");
}
inline void plan_product(const Call &call, Plan &plan, const ProductKernels &kernels, const Product &product) {
    plan_products(call, plan, kernels, {&product, 1});
}

} // namespace lamina::plugin
