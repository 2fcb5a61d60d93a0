// Sorts pairs of a token and an expert by expert, and cuts them into tiles (chosen.glsl).
//
// An invocation finds the pairs of one expert, and how many are before them. An expert e whose pairs begin at position p
// has the tiles from p / tile_rows + e on. That is more than there can be before it, so no expert waits for another;
// tiles that are left over are empty. There are no atomics, and the order is that of the tokens.
//
// experts (pairs); order (pairs), tiles (pairs / tile_rows + E).
// Dispatch: one invocation per expert, in workgroups of 64.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint pairs;
    uint count; // E
    uint tile_rows;
};
layout(std430, set = 0, binding = 0) readonly buffer Experts { uint experts[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Order { uint order[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Tiles { uvec4 tiles[]; };

void main() {
    const uint expert = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (expert >= count) return;
    uint before = 0u, own = 0u;
    for (uint i = 0u; i < pairs; ++i) {
        const uint e = experts[i];
        before += e < expert ? 1u : 0u;
        own += e == expert ? 1u : 0u;
    }
    uint place = before;
    for (uint i = 0u; i < pairs && place < before + own; ++i)
        if (experts[i] == expert) order[place++] = i;
    const uint end = before + own;
    const uint next = end / tile_rows + expert + 1u;
    uint position = before;
    for (uint tile = before / tile_rows + expert; tile < next; ++tile) {
        tiles[tile] = position < end ? uvec4(expert, position, end, 0u) : uvec4(0u);
        position += tile_rows;
    }
}
