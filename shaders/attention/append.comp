// Writes the new keys or values of a step into their cache: row t of sequence b goes to row position[b] + t. What lies
// at or beyond the cache's end is not written.
//
// x (B, T) or (T, B) rows of cols, as the strides say, in rows; cache (B, M) rows. Dispatch: an invocation a value.
#version 450
#extension GL_GOOGLE_include_directive : require
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

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Cache { float cache[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * rows * cols) return;
    const uint column = i % cols, t = i / cols % rows, b = i / cols / rows;
    const uint row = (HAS_POSITION ? uint(position[b]) : 0u) + t;
    if (row >= cache_rows) return;
    cache[(b * cache_rows + row) * cols + column] = x[(b * batch_stride + t * time_stride) * cols + column];
}
