// Rows of a tensor by their numbers. Values are copied as bits, so that none can change.
//
// x (any rows, columns); rows (rows of y); y (rows, columns), `size` elements in all.
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint columns;
};
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Rows { uint rows[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    y[i] = x[rows[i / columns] * columns + i % columns];
}
