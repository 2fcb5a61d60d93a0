// Learned rows before each sequence. Values of x are copied as bits, so that none can change.
//
// x (B, T, C), rows (R, C), y (B, R + T, C), which has `size` elements in all and `of_y` in a sequence; `of_rows` of
// them are those of the rows.
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint of_rows;
    uint of_y;
};
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
WEIGHT(rows, 1, 0)
layout(std430, set = 0, binding = 2) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const uint b = i / of_y, at = i % of_y; // in the sequence
    y[i] = at < of_rows ? floatBitsToUint(rows(at)) : x[i - (b + 1u) * of_rows];
}
