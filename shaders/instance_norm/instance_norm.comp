// Instance normalization: y[b, t, c] = act((x - mean[b, c]) / sqrt(variance[b, c] + eps) * weight[c] + bias[c]), with
// mean and variance over the first lengths[b] steps; zero behind them. instance_norm_parts, instance_norm_join and, for
// groups of channels, instance_norm_groups come before.
//
// x, y (B, steps, cols); of_all (2, B, cols): mean, without the first step, and 1 / sqrt(variance + eps); lengths (B),
// weight and bias (cols) may be left out.
// Dispatch: an invocation for each value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/activation.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 2) const bool HAS_LENGTHS = false;
layout(constant_id = 3) const uint ACTIVATION = LAMINA_NONE;

layout(push_constant) uniform Push {
    uint batch;
    uint steps;
    uint cols;
    float eps;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 2) readonly buffer OfAll { float of_all[]; };
WEIGHT(weight, 3, 0)
WEIGHT(bias, 4, 1)
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y[]; };

void main() {
    const uint row = (workgroup_number() * 64u + gl_LocalInvocationID.x) / cols;
    const uint c = (workgroup_number() * 64u + gl_LocalInvocationID.x) % cols;
    const uint b = row / steps;
    if (b >= batch) return;
    if (HAS_LENGTHS && row % steps >= uint(lengths[b])) {
        y[row * cols + c] = 0.0;
        return;
    }
    const float difference = x[row * cols + c] - x[b * steps * cols + c] - of_all[b * cols + c];
    const float scale = of_all[(batch + b) * cols + c] * (weight_dtype == 0u ? 1.0 : weight(c));
    y[row * cols + c] = activate(ACTIVATION, difference * scale + bias(c));
}
