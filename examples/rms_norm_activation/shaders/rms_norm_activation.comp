// y = silu(x / sqrt(mean(x^2) + eps) * weight), by rows.
//
// x, y (rows, C); weight (C) may be left out. Dispatch: one workgroup per row; its invocations loop over the columns.
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
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

void main() {
    const uint row = workgroup_number(), lane = gl_LocalInvocationID.x;
    if (row >= rows) return; // the same for the whole workgroup
    float square = 0.0;
    for (uint c = lane; c < cols; c += 64u) square += x[row * cols + c] * x[row * cols + c];
    const float scale = inversesqrt(workgroup_sum(square, 0u) / float(cols) + eps);
    for (uint c = lane; c < cols; c += 64u) {
        const float v = x[row * cols + c] * scale * (weight_dtype == 0u ? 1.0 : weight(c));
        y[row * cols + c] = v / (1.0 + exp(-v));
    }
}
