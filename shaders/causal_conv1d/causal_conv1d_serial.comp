// Causal convolution of few steps, which also keeps the last ones for the next call.
//
// Dispatch: one invocation per channel of a sequence.
#version 450
#extension GL_GOOGLE_include_directive : require
#define BEFORE
#define HAS_BEFORE true
#define LENGTHS 6
#include "causal_conv1d/steps.glsl"
#include "causal_conv1d/sum.glsl"
#include "causal_conv1d/keep.glsl"

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * channels) return;
    for (uint t = 0u; t < steps; ++t) compute(i / channels, t, i % channels);
    keep(i / channels, i % channels);
}
