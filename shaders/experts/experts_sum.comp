// Adds what the experts of each token have computed: y = residual + sum over i of shares[i] * results[i].
//
// results (tokens * K, C), shares (tokens, K), residual (tokens, C); y (tokens, C).
// Dispatch: one invocation per value of y, in workgroups of 64.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool HAS_RESIDUAL = false;
layout(push_constant) uniform Push {
    uint size; // of y
    uint cols; // C
    uint per_token; // K
};
layout(std430, set = 0, binding = 0) readonly buffer Results { float results[]; };
layout(std430, set = 0, binding = 1) readonly buffer Shares { float shares[]; };
layout(std430, set = 0, binding = 2) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const uint token = i / cols, c = i % cols;
    float sum = 0.0;
    for (uint k = 0u; k < per_token; ++k)
        sum += shares[token * per_token + k] * results[(token * per_token + k) * cols + c];
    y[i] = HAS_RESIDUAL ? sum + residual[i] : sum;
}
