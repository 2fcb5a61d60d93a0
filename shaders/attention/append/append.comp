// Writes the new keys or values of a step into their cache: row t of sequence b goes to row position[b] + t. Rows at or
// beyond the end of the cache are not written.
//
// x: (B, T) or (T, B) rows of cols, according to the strides (in rows); cache: (B, M) rows, f32, or f16 with two values
// per word.
// Dispatch: one invocation per word of the cache's rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/half.glsl"
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
layout(constant_id = 1) const bool HALVES = false; // cols is even

layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Cache { uint cache[]; };

void main() {
    const uint words = HALVES ? cols / 2u : cols;
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * rows * words) return;
    const uint word = i % words, t = i / words % rows, b = i / words / rows;
    const uint row = (HAS_POSITION ? uint(position[b]) : 0u) + t;
    if (row >= cache_rows) return;
    const uint from = (b * batch_stride + t * time_stride) * cols, to = (b * cache_rows + row) * words + word;
    if (HALVES) cache[to] = narrow_f16(x[from + 2u * word]) | narrow_f16(x[from + 2u * word + 1u]) << 16;
    else cache[to] = x[from + word];
}
