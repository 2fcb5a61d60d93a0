// Bias by distance: y[h, i] = table[buckets[i], h].
//
// buckets (distances); table (buckets, heads); y (heads, distances).
// Dispatch: one invocation per value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint heads;
    uint distances;
};
layout(std430, set = 0, binding = 0) readonly buffer Buckets { uint buckets[]; };
WEIGHT(table, 1, 0)
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= heads * distances) return;
    y[i] = table(buckets[i % distances] * heads + i / distances);
}
