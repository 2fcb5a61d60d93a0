// The last K - 1 rows of history and x become the history of the next run.
//
// x (B, T, C); history (B, K - 1, C). Dispatch: one invocation per channel, because a row may move to the place of
// another row that has to move first.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint batch;
    uint length;   // T
    uint channels; // C
    uint taps;     // K
};
layout(constant_id = 1) const bool HAS_POSITION = false;

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) buffer History { float history[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * channels) return;
    const uint c = i % channels, b = i / channels, before = taps - 1u;
    const bool began = HAS_POSITION && position[b] != 0;
    for (uint to = 0u; to < before; ++to) {
        const uint from = to + length; // after `to`, so it has not been overwritten yet
        float value = 0.0;
        if (from >= before) value = x[(b * length + from - before) * channels + c];
        else if (began) value = history[(b * before + from) * channels + c];
        history[(b * before + to) * channels + c] = value;
    }
}
