// The matrix product of most layers: Y = act(X Wᵀ + b), then + Z or * Z.
//
// X (rows, inner) f32; W (cols, inner), any dtype for weights; b (cols), may be left out; Z, Y (rows, y_cols) f32.
// W may be a window of a larger matrix; its results then start at column first_col of Y. Sums are fp32.
//
// This file declares the operands and finishes each sum. The kernels differ in how they compute the sums:
//     registers.glsl           a tile of sums per invocation; no shared memory and no barriers, so it runs anywhere
//     tiled.glsl               a tile of sums per workgroup; X and W go through shared memory
//     few_rows.glsl            invocations share the work along K, for a handful of rows
//     product_matrix.comp      64 x 64 sums per workgroup, with cooperative matrices
//     product_packed.comp      as product_registers.comp, with fewer and wider loads of rearranged operands
// tiled.glsl and few_rows.glsl may split K into parts, which product_join.comp adds. With STACKED defined, W is one of a
// stack of matrices: see experts/chosen.glsl, or with GROUPED, too, grouped_linear/groups.glsl.
// lamina::plugin::plan_product() in <lamina/plugin/product.hpp> plans the dispatches.

#ifndef LAMINA_PRODUCT_GLSL
#define LAMINA_PRODUCT_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "common/activation.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "lamina/plugin/product_numbers.h"

layout(push_constant) uniform Push {
    uint rows;
    uint inner;
    uint cols;
    uint first_col;
    uint y_cols;
    uint part_inner; // values along K in a part; inner if K is not split
    uint combine;    // not a specialization constant, so that products which differ in it share a pipeline
#ifdef STACKED
    STACKED_PUSH
#endif
#ifdef BUILT_ONCE    // for all of these, because the kernel takes drivers long to compile
    uint activation;
#endif
};

#ifdef BUILT_ONCE
#define ACTIVATION activation
#else
layout(constant_id = LAMINA_OF_ACTIVATION) const uint ACTIVATION = LAMINA_NONE;
#endif

uint part = 0u; // which part of K a workgroup computes

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT_OR_BLOCKS(weight, 1, LAMINA_OF_WEIGHT)
WEIGHT(bias, 2, LAMINA_OF_BIAS)
layout(std430, set = 0, binding = 3) readonly buffer Z { float z[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

#ifdef GROUPED
#include "grouped_linear/groups.glsl"
#elif defined(STACKED)
#include "experts/chosen.glsl"
#else
#define ROWS_END rows
#define FINISHED(sum) activate(ACTIVATION, sum)
uint x_row(uint row) { return min(row, rows - 1u); } // rows and columns beyond the edge repeat the last one
uint w_row(uint col) { return min(col, cols - 1u); }
uint y_row(uint row) { return part * rows + row; }
uint z_row(uint row) { return row; }
float bias_at(uint n) { return bias(n); }
#endif

// How many values along K are read at a time: one, or four with VEC4 and BLOCKS, where K is a multiple of 4. This is
// not a specialization constant, because SwiftShader would be three times slower.
#if defined(VEC4) || defined(BLOCKS)
#define STEP vec4
#define STEP_OF(name) name##4
const uint STEP_SIZE = 4u;
layout(std430, set = 0, binding = 0) readonly buffer X4 { vec4 x4[]; };
vec4 x_step(uint i) { return x4[i]; }
#else
#define STEP float
#define STEP_OF(name) name
const uint STEP_SIZE = 1u;
float x_step(uint i) { return x[i]; }
#endif
STEP weight_step(uint i) { return STEP_OF(weight)(i); }

// Four values along K, from k on; zeros beyond the end.
vec4 x_four(uint row, uint k) {
#if defined(VEC4) || defined(BLOCKS)
    return k < inner ? x4[(row * inner + k) / 4u] : vec4(0.0);
#else
    vec4 v;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = x[row * inner + min(k + i, inner - 1u)];
    return mix(v, vec4(0.0), greaterThanEqual(k + uvec4(0u, 1u, 2u, 3u), uvec4(inner)));
#endif
}
vec4 w_four(uint row, uint k) {
#if defined(VEC4) || defined(BLOCKS)
    return k < inner ? weight4((row * inner + k) / 4u) : vec4(0.0);
#else
    vec4 v;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = weight(row * inner + min(k + i, inner - 1u));
    return mix(v, vec4(0.0), greaterThanEqual(k + uvec4(0u, 1u, 2u, 3u), uvec4(inner)));
#endif
}

// What a workgroup computes: the tile of sums at (row, col), over the values along K from begin to end.
struct Tile {
    uint row, col, begin, end;
};
// False for the workgroups beyond the last tile of the last part.
bool find_tile(uint tile_rows, uint tile_cols, out Tile tile) {
    const uint down = (rows + tile_rows - 1u) / tile_rows, across = (cols + tile_cols - 1u) / tile_cols;
    const uint n = workgroup_number();
#ifdef STACKED
    tile.col = n % across * tile_cols, tile.begin = 0u, tile.end = inner;
    return find_rows(n / across, tile.row);
#endif
    part = n / across / down;
    tile.row = n / across % down * tile_rows, tile.col = n % across * tile_cols;
    tile.begin = part * part_inner, tile.end = min(tile.begin + part_inner, inner);
    return tile.begin < inner;
}

// Kernels ask for it once per column. In finish() it would be loaded for each row: compilers must assume that writing Y
// may change it.
float bias_of(uint col) { return bias_at(first_col + min(col, cols - 1u)); }
vec4 biases_of(uint col) { return vec4(bias_of(col), bias_of(col + 1u), bias_of(col + 2u), bias_of(col + 3u)); }

// Finishes the sum at (row, col), which includes the bias, and writes it to Y. Drops sums outside the matrix, from
// tiles that extend beyond its edges. If K is split, Y has rows for each part.
void finish(uint row, uint col, float sum) {
    if (row >= ROWS_END || col >= cols) return;
    const uint n = first_col + col;
    float v = FINISHED(sum);
    if (combine == LAMINA_ADD) v += z[z_row(row) * y_cols + n];
    if (combine == LAMINA_MULTIPLY) v *= z[z_row(row) * y_cols + n];
    y[y_row(row) * y_cols + n] = v;
}

// The same for four adjacent columns. Their values of Z are on their way at the same time.
void finish_four(uint row, uint first_col_of_four, vec4 sums) {
    if (row >= ROWS_END) return;
    const uvec4 col = first_col_of_four + uvec4(0u, 1u, 2u, 3u);
    const uvec4 n = first_col + min(col, uvec4(cols - 1u));
    vec4 v = vec4(FINISHED(sums.x), FINISHED(sums.y), FINISHED(sums.z), FINISHED(sums.w));
    if (combine != LAMINA_NONE) {
        const uvec4 at = z_row(row) * y_cols + n;
        const vec4 others = vec4(z[at.x], z[at.y], z[at.z], z[at.w]);
        v = combine == LAMINA_ADD ? v + others : v * others;
    }
    const uvec4 at = y_row(row) * y_cols + n;
    if (col.x < cols) y[at.x] = v.x;
    if (col.y < cols) y[at.y] = v.y;
    if (col.z < cols) y[at.z] = v.z;
    if (col.w < cols) y[at.w] = v.w;
}

#endif
