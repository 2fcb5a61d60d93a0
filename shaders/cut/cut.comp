// Each sequence in two parts. Values are copied as bits, so that none can change.
//
// x (B, T + count, C), `size` elements in all; first (B, T, C), `of_first` elements in a sequence; last (B, count, C),
// `of_last`.
// Dispatch: one invocation per element of x.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint of_first;
    uint of_last;
};
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer First { uint first[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Last { uint last[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const uint b = i / (of_first + of_last), at = i % (of_first + of_last); // in the sequence
    if (at < of_first)
        first[b * of_first + at] = x[i];
    else
        last[b * of_last + at - of_first] = x[i];
}
