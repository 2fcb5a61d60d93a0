// Some neighbouring channels of each group. Values are copied as bits, so that none can change.
//
// x (rows of groups, channels), y (rows of groups, count), which has `size` elements in all.
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint channels;
    uint first;
    uint count;
};
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i < size) y[i] = x[i / count * channels + first + i % count];
}
