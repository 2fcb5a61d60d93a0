// For product_packed.comp: pads rows of any dtype except blocks with zeros to whole groups of 16 bytes.
//
// Dispatch: one invocation per group that is written.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "units.glsl"

layout(local_size_x = 64) in;

void main() {
    const uint at = workgroup_number() * 64u + gl_LocalInvocationID.x, row = first + at / groups;
    if (row >= end) return;
    uvec4 group;
    for (uint w = 0u; w < 4u; ++w) {
        const uint i = at % groups * 8u + w * 2u;
        group[w] = unit(row, i) | unit(row, i + 1u) << 16;
    }
    to_groups[at] = group;
}
