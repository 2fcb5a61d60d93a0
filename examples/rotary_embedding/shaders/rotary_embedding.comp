// Rotary position embedding: every pair (a, b) of channels becomes (a cos - b sin, a sin + b cos) of its row's angle.
//
// x, y (B, T, heads*D); position (B, T); turns (D/2): turns a position, in units of 2^-64 turn, lower half first.
// Dispatch: one invocation a pair of channels.
//
// GLSL's sin() and cos() promise 2^-11 from -pi to pi and nothing beyond. So the phase is counted in turns, in integers,
// where whole turns drop out exactly, and the sine of what is left is a polynomial.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint cols;
    uint depth;  // D: the channels of a head
    uint length; // T
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { uint position[]; };
layout(std430, set = 0, binding = 2) readonly buffer Turns { uvec2 turns[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };
layout(constant_id = 0) const bool has_position = true;
layout(constant_id = 1) const bool halves = false;

// The upper half of position * turns, whole turns dropped: the phase in units of 2^-32 turn.
uint phase(uint at, uvec2 turns_a_position) {
    uint carry, low;
    umulExtended(at, turns_a_position.x, carry, low);
    return at * turns_a_position.y + carry;
}

// (sine, cosine) of a phase in units of 2^-32 turn, to 1e-7: the nearest quarter turn comes off, and two polynomials
// fitted to an eighth of a turn on either side give the rest.
vec2 sine_cosine(uint phase) {
    const uint p = (phase + 16u) >> 5;           // 2^27 a turn: what a float holds of an eighth of it
    const uint quarter = (p + (1u << 24)) >> 25; // 0 to 4
    const float t = float(int(p - (quarter << 25))) * 5.9604644775390625e-8; // in eighths of a turn, -1 to 1
    const float u = t * t;
    const float s = t * (0.785398126 + u * (-0.0807451382 + u * (0.00248939241 + u * -3.55940028e-05)));
    const float c = 1.0 + u * (-0.308425128 + u * (0.0158542823 + u * (-0.000325863133 + u * 3.49026232e-06)));
    const vec2 swapped = (quarter & 1u) != 0u ? vec2(c, s) : vec2(s, c);
    return vec2((quarter & 2u) != 0u ? -swapped.x : swapped.x, ((quarter + 1u) & 2u) != 0u ? -swapped.y : swapped.y);
}

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size / 2u) return;
    const uint row = i / (cols / 2u), pairs = depth / 2u;
    const uint head = i % (cols / 2u) / pairs, pair = i % pairs;
    const vec2 angle = sine_cosine(phase(has_position ? position[row] : row % length, turns[pair]));
    const uint a = row * cols + head * depth + (halves ? pair : 2u * pair);
    const uint b = a + (halves ? pairs : 1u);
    const vec2 before = vec2(x[a], x[b]);
    y[a] = before.x * angle.y - before.y * angle.x;
    y[b] = before.x * angle.x + before.y * angle.y;
}
