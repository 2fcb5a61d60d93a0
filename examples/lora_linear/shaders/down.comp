// The narrow side of the adapter: narrow = scale * x * transpose(down).
//
// x (rows, K); down (R, K); narrow (rows, R). Dispatch: one invocation per value of narrow.
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
WEIGHT(down, 1, 0)
layout(std430, set = 0, binding = 2) writeonly buffer Narrow { float narrow[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= rows * rank) return;
    const uint row = i / rank, r = i % rank;
    float sum = 0.0;
    for (uint k = 0u; k < inner; ++k) sum += x[row * inner + k] * down(r * inner + k);
    narrow[i] = scale * sum;
}
