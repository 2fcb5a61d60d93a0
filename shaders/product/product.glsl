// The matrix product of most layers: Y = act(X Wᵀ + b), then + Z or * Z.
//
// X (rows, inner) f32; W (cols, inner), any dtype for weights; b (cols), may be left out; Z, Y (rows, y_cols) f32.
// W may be a window of a larger matrix; its results then start at column first_col of Y. Sums are fp32.
//
// This file declares the operands and finishes each sum. The kernels differ in how they compute the sums:
//     product_registers.comp   a tile of sums per invocation; no shared memory and no barriers, so it runs anywhere
//     product_tiled.comp       64 x 64 sums per workgroup; X and W go through shared memory
//     product_few_rows.comp    invocations share the work along K, for a handful of rows
//     product_matrix.comp      64 x 64 sums per workgroup, with cooperative matrices
//     product_packed.comp      as product_registers.comp, with fewer and wider loads of rearranged operands
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
#ifdef BUILT_ONCE // for all of these, because the kernel takes drivers long to compile
    uint activation;
    uint combine;
#endif
};

#ifdef BUILT_ONCE
#define ACTIVATION activation
#define COMBINE combine
#else
layout(constant_id = LAMINA_OF_ACTIVATION) const uint ACTIVATION = LAMINA_NONE;
layout(constant_id = LAMINA_OF_COMBINE) const uint COMBINE = LAMINA_NONE;
#endif

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT_OR_BLOCKS(weight, 1, LAMINA_OF_WEIGHT)
WEIGHT(bias, 2, LAMINA_OF_BIAS)
layout(std430, set = 0, binding = 3) readonly buffer Z { float z[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

// How many values along K are read at a time: one, or four with VEC4 and BLOCKS, where K is a multiple of 4. This is
// not a specialization constant, because SwiftShader would be three times slower.
#if defined(VEC4) || defined(BLOCKS)
#define STEP vec4
const uint STEP_SIZE = 4u;
layout(std430, set = 0, binding = 0) readonly buffer X4 { vec4 x4[]; };
vec4 x_step(uint i) { return x4[i]; }
vec4 weight_step(uint i) { return weight4(i); }
#else
#define STEP float
const uint STEP_SIZE = 1u;
float x_step(uint i) { return x[i]; }
float weight_step(uint i) { return weight(i); }
#endif

// Kernels ask for it once per column. In finish() it would be loaded for each row: compilers must assume that writing Y
// may change it.
float bias_of(uint col) { return bias(first_col + min(col, cols - 1u)); }

// Finishes the sum at (row, col), which includes the bias, and writes it to Y. Drops sums outside the matrix, from
// tiles that extend beyond its edges.
void finish(uint row, uint col, float sum) {
    if (row >= rows || col >= cols) return;
    const uint n = first_col + col;
    float v = activate(ACTIVATION, sum);
    if (COMBINE == LAMINA_ADD) v += z[row * y_cols + n];
    if (COMBINE == LAMINA_MULTIPLY) v *= z[row * y_cols + n];
    y[row * y_cols + n] = v;
}

#endif
