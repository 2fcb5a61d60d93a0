// The wide side: y = x * transpose(weight) + bias + narrow * transpose(up).
//
// x (rows, K); weight (N, K); bias (N); narrow (rows, R), from down.comp; up (N, R); y (rows, N).
// Dispatch: one invocation per value of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint inner; // K
    uint outer; // N
    uint rank;  // R
    float scale;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
WEIGHT(bias, 2, 1)
layout(std430, set = 0, binding = 3) readonly buffer Narrow { float narrow[]; };
WEIGHT(up, 4, 2)
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= rows * outer) return;
    const uint row = i / outer, n = i % outer;
    float sum = bias(n);
    for (uint k = 0u; k < inner; ++k) sum += x[row * inner + k] * weight(n * inner + k);
    for (uint r = 0u; r < rank; ++r) sum += narrow[row * rank + r] * up(n * rank + r);
    y[i] = sum;
}
