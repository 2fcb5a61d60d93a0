// Causal convolution: y[t] = activation(bias + sum over k of weight[k] * x[t + k - (WIDTH - 1)]), channel by channel.
//
// Dispatch: one invocation per value of y.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(constant_id = 1) const bool HAS_BEFORE = false;
#define BEFORE readonly
#include "causal_conv1d/steps.glsl"
#include "causal_conv1d/sum.glsl"

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i < batch * steps * channels) compute(i / channels / steps, i / channels % steps, i % channels);
}
