// Rotary position embedding: every pair (a, b) of channels becomes (a cos - b sin, a sin + b cos) of its angle, times a
// magnitude. The channels of a head after its pairs are copied unchanged.
//
// x, y (B, T, heads*D) or (T, B, heads*D); position (B), or coordinates (A) of each row; frequencies (A, P), in radians
// per position, or (T, P), which are the angles of the rows. Dispatch: one invocation per pair of channels, and per
// channel that is copied.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/sinusoid.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size; // of x
    uint heads;
    uint depth; // D: the channels of a head
    uint pairs; // P
    uint batch, length;
    uint batch_stride, time_stride; // in rows
    uint axes; // A
    float magnitude;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { uint offset[]; };
layout(std430, set = 0, binding = 2) readonly buffer Frequencies { float frequencies[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = 4) readonly buffer Coordinates { uint coordinates[]; };
layout(constant_id = 1) const bool halves = false;
layout(constant_id = 2) const bool has_coordinates = false;
layout(constant_id = 3) const bool has_angles = false;

#include "common/rotation.glsl"
#include "common/sequence_row.glsl"

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    const uint of_head = depth - pairs, head = i / of_head, pair = i % of_head; // head: of all rows
    if (head >= size / depth) return;
    if (pair >= pairs) {
        const uint stays = head * depth + pairs + pair;
        y[stays] = x[stays];
        return;
    }
    const uint row = head / heads;
    const uint position = position_of(row);
    const vec2 turn = magnitude * (has_coordinates ? turn_at(row, pair)
                                   : has_angles    ? turn_of(1u, position * pairs + pair)
                                                   : turn_of(position, pair));
    const uint a = head * depth + (halves ? pair : 2u * pair), b = a + (halves ? pairs : 1u);
    const vec2 before = vec2(x[a], x[b]);
    y[a] = before.x * turn.y - before.y * turn.x;
    y[b] = before.x * turn.x + before.y * turn.y;
}
