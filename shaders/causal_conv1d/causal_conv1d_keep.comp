// Keeps the last steps of a causal convolution for the next call, after y was computed.
//
// Dispatch: one invocation per channel of a sequence.
#version 450
#extension GL_GOOGLE_include_directive : require
#define BEFORE
#define HAS_BEFORE true
#define LENGTHS 3
#include "causal_conv1d/steps.glsl"
#include "causal_conv1d/keep.glsl"

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i < batch * channels) keep(i / channels, i % channels);
}
