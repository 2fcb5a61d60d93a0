// Root mean square normalization: y = x / sqrt(mean(x^2) + eps) * (weight_offset + weight) + residual, by rows.
//
// x, residual, y (rows, C), where a row is one group of the layer's row; weight (C). Weight and residual may be left
// out.
// Dispatch: one workgroup per row. Its invocations loop over the columns, and a barrier joins their sums.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    float eps;
    float weight_offset;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
layout(constant_id = 1) const bool HAS_RESIDUAL = false;
layout(std430, set = 0, binding = 2) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;
    const uint base = row * cols;

    float square = 0.0;
    for (uint c = lane; c < cols; c += 64u) square += x[base + c] * x[base + c];
    const float scale = inversesqrt(workgroup_sum(square, 0u) / float(cols) + eps);

    for (uint c = lane; c < cols; c += 64u) {
        const float normal = x[base + c] * scale * (weight_dtype == 0u ? 1.0 : weight_offset + weight(c));
        y[base + c] = HAS_RESIDUAL ? normal + residual[base + c] : normal;
    }
}
