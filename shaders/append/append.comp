// The rows of each sequence, then those of another. Values are copied as bits, so that none can change.
//
// x (B, T, C), `of_x` elements in a sequence; other (B, N, C), `of_other`; y (B, T + N, C), `size` elements in all.
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint of_x;
    uint of_other;
};
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Other { uint other[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const uint b = i / (of_x + of_other), at = i % (of_x + of_other); // in the sequence
    y[i] = at < of_x ? x[b * of_x + at] : other[b * of_other + at - of_x];
}
