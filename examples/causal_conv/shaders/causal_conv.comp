// Causal convolution: y[t] = bias + the sum over k of weight[k] * x[t - (K - 1) + k], separately for each channel.
//
// x, y (B, T, C); weight (C, K); bias (C); history (B, K - 1, C): the rows before x, zeros where there are none.
// Dispatch: one invocation per value of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint batch;
    uint length;   // T
    uint channels; // C
    uint taps;     // K
};
layout(constant_id = 0) const bool HAS_HISTORY = false;
layout(constant_id = 1) const bool HAS_POSITION = false;

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) readonly buffer History { float history[]; };
WEIGHT(weight, 3, 2)
WEIGHT(bias, 4, 3)
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * length * channels) return;
    const uint c = i % channels, t = i / channels % length, b = i / channels / length;
    const uint before = taps - 1u;
    const bool began = HAS_HISTORY && HAS_POSITION && position[b] != 0; // at position 0, the history is of another text

    float sum = bias(c);
    for (uint k = 0u; k < taps; ++k) {
        const uint row = t + k; // counted from the first row of the history
        float value = 0.0;
        if (row >= before) value = x[(b * length + row - before) * channels + c];
        else if (began) value = history[(b * before + row) * channels + c];
        sum += weight(c * taps + k) * value;
    }
    y[i] = sum;
}
