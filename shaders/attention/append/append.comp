// Writes the new keys or values of a step into their cache: row t of sequence b goes to row position[b] + t. Rows at or
// beyond the end of the cache are not written.
//
// x: (B, T) or (T, B) rows of cols, according to the strides (in rows); cache: (B, M) rows, f32, f16 with two values per
// word, or q8_0 with 64 values in 17 words.
// Dispatch: one invocation per word of the cache's rows, or per 64 values.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/half.glsl"
#include "common/q8_cache.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint batch;
    uint rows; // of x in a sequence
    uint cols;
    uint cache_rows; // M
    uint batch_stride;
    uint time_stride;
};
layout(constant_id = 0) const bool HAS_POSITION = false;
layout(constant_id = 1) const uint DTYPE = 1u; // of the cache, as in plugin.h: f32, f16 or q8_0; cols is a multiple of
                                                // what an invocation writes

layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Cache { uint cache[]; };

float value(uint i) { return uintBitsToFloat(x[i]); }

void main() {
    const bool halves = DTYPE == 2u, blocks = DTYPE == 16u;
    const uint together = halves ? 2u : blocks ? 64u : 1u, pieces = cols / together;
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * rows * pieces) return;
    const uint piece = i % pieces, t = i / pieces % rows, b = i / pieces / rows;
    const uint row = (HAS_POSITION ? uint(position[b]) : 0u) + t;
    if (row >= cache_rows) return;
    const uint from = (b * batch_stride + t * time_stride) * cols + piece * together;
    const uint to = (b * cache_rows + row) * pieces + piece;
    if (halves) cache[to] = narrow_f16(x[from]) | narrow_f16(x[from + 1u]) << 16;
    else if (blocks) PUT_Q8_BLOCKS(cache, to * 17u, value, from)
    else cache[to] = x[from];
}
