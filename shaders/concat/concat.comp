// Concatenation along the last axis, where a row may be one of several groups. Values are copied as bits, so that none can change.
//
// a (rows, C), b (rows, D), y (rows, C + D), which has `size` elements in all.
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint cols_a;
    uint cols_b;
};
layout(std430, set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const uint row = i / (cols_a + cols_b), c = i % (cols_a + cols_b);
    y[i] = c < cols_a ? a[row * cols_a + c] : b[row * cols_b + c - cols_a];
}
