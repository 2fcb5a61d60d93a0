// The product that most layers are made of: Y = act(X Wᵀ + b), then + Z or * Z.
//
// X (rows, inner) f32; W (cols, inner), any dtype for weights; b (cols), may be left out; Z, Y (rows, y_cols) f32.
// W may be a window of a larger matrix: its cols then stand in Y from first_col on. Sums are formed in fp32.
//
// This file declares the operands and what happens to a finished sum. A kernel is this and one way to form the sums:
//     product_registers.glsl   one tile of sums an invocation, no shared memory, no barriers: runs anywhere
//     product_tiled.glsl       64 x 64 sums a workgroup, X and W by way of shared memory
//     product_few_rows.glsl    invocations along K, for a handful of rows
// The plan is lamina::plugin::plan_product() in <lamina/plugin/product.hpp>; the dispatches are its business.

#ifndef LAMINA_PRODUCT_GLSL
#define LAMINA_PRODUCT_GLSL

#include "common/activation.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(push_constant) uniform Push {
    uint rows;
    uint inner;
    uint cols;
    uint first_col;
    uint y_cols;
};

layout(constant_id = 2) const uint ACTIVATION = 0u; // 0: none
layout(constant_id = 3) const uint COMBINE = 0u;    // as lamina::plugin::Combine
const uint ADD = 1u, MULTIPLY = 2u;

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
WEIGHT(bias, 2, 1)
layout(std430, set = 0, binding = 3) readonly buffer Z { float z[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

// Takes the sum at (row, col) to Y. Sums outside of the matrix, from tiles that hang over its edges, are dropped.
void finish(uint row, uint col, float sum) {
    if (row >= rows || col >= cols) return;
    const uint n = first_col + col;
    float v = activate(ACTIVATION, sum + bias(n));
    if (COMBINE == ADD) v += z[row * y_cols + n];
    if (COMBINE == MULTIPLY) v *= z[row * y_cols + n];
    y[row * y_cols + n] = v;
}

#endif
