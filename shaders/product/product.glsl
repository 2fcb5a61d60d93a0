// The product that most layers are made of: Y = act(X Wᵀ + b), then + Z or * Z.
//
// X (rows, inner) f32; W (cols, inner), any dtype for weights; b (cols), may be left out; Z, Y (rows, y_cols) f32.
// W may be a window of a larger matrix: its cols then stand in Y from first_col on. Sums are formed in fp32.
//
// This file declares the operands and what happens to a finished sum. A kernel is this and one way to form the sums:
//     product_registers.comp   one tile of sums an invocation, no shared memory, no barriers: runs anywhere
//     product_tiled.comp       64 x 64 sums a workgroup, X and W by way of shared memory
//     product_few_rows.comp    invocations along K, for a handful of rows
//     product_matrix.comp      64 x 64 sums a workgroup, by cooperative matrices
// The plan is lamina::plugin::plan_product() in <lamina/plugin/product.hpp>; the dispatches are its business.

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
};

layout(constant_id = LAMINA_OF_ACTIVATION) const uint ACTIVATION = LAMINA_NONE;
layout(constant_id = LAMINA_OF_COMBINE) const uint COMBINE = LAMINA_NONE;

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT_OR_BLOCKS(weight, 1, LAMINA_OF_WEIGHT)
WEIGHT(bias, 2, LAMINA_OF_BIAS)
layout(std430, set = 0, binding = 3) readonly buffer Z { float z[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

// What is read along K at a time: a value, or four, with VEC4, where K is a multiple of 4, and with BLOCKS, where it
// always is. Not a specialization constant: SwiftShader is three times slower with one.
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

// Takes the sum at (row, col) to Y. Sums outside of the matrix, from tiles that hang over its edges, are dropped.
void finish(uint row, uint col, float sum) {
    if (row >= rows || col >= cols) return;
    const uint n = first_col + col;
    float v = activate(ACTIVATION, sum + bias(n));
    if (COMBINE == LAMINA_ADD) v += z[row * y_cols + n];
    if (COMBINE == LAMINA_MULTIPLY) v *= z[row * y_cols + n];
    y[row * y_cols + n] = v;
}

#endif
