// Where the new keys and values of a step go in a cache: target[row] of each row of the source, for product.glsl.
//
// Self attention (GROWING): row t of sequence b goes to position[b] + t. Cross attention: the source is projected when
// position[b] is 0, and stays as it is in later steps. A row at or beyond the cache's end goes nowhere.
//
// target (rows), in the order of the source's rows: (B, T) or (T, B), as the strides say. Dispatch: an invocation a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint batch;
    uint keys;        // rows of the source in a sequence
    uint cache_rows;  // M
    uint batch_stride;
    uint time_stride;
};
layout(constant_id = 0) const bool GROWING = true;
layout(constant_id = 1) const bool HAS_POSITION = false;

layout(std430, set = 0, binding = 0) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Target { uint target[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * keys) return;
    const uint b = i / keys, t = i % keys;
    const uint first = HAS_POSITION ? uint(position[b]) : 0u;
    const uint row = GROWING ? first + t : t;
    const bool stays = row < cache_rows && (GROWING || first == 0u);
    target[b * batch_stride + t * time_stride] = stays ? b * cache_rows + row : 0xffffffffu;
}
