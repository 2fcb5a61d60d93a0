// Scales each row to length 1: y = x / max(sqrt(sum(x^2)), 1e-12).
//
// x, y (rows, C).
// Dispatch: one workgroup per row. Its invocations loop over the columns, and a barrier joins their sums.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;
    const uint base = row * cols;

    float square = 0.0;
    for (uint c = lane; c < cols; c += 64u) square += x[base + c] * x[base + c];
    const float norm = max(sqrt(workgroup_sum(square, 0u)), 1e-12);
    for (uint c = lane; c < cols; c += 64u) y[base + c] = x[base + c] / norm;
}
