// Adds the parts of a product whose K was split, in their order, and finishes the sums as product.glsl does.
//
// Here X has the sums: `inner` parts of (rows, cols). W is not read. Dispatch: one invocation per sum.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "product.glsl"

layout(local_size_x = 64) in;

void main() {
    const uint at = workgroup_number() * 64u + gl_LocalInvocationID.x, row = at / cols, col = at % cols;
    if (row >= rows) return;
    float sum = bias_of(col);
    for (uint i = 0u; i < inner; ++i) sum += x[(i * rows + row) * cols + col];
    finish(row, col, sum);
}
