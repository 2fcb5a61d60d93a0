// Sinusoidal positions: y[2i] = x[2i] + sin(position / 10000^(2i/C)), and y[2i+1] likewise with cos. In the layout
// "halves", all sines come before all cosines.
//
// x, y (B, T, C) or (T, B, C); offset (B); turns (C/2): see common/sinusoid.glsl.
// Dispatch: one invocation per pair of channels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "common/sinusoid.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    uint batch, length;
    uint batch_stride, time_stride; // in rows
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Offset { uint offset[]; };
layout(std430, set = 0, binding = 2) readonly buffer Turns { uvec2 turns[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };
layout(constant_id = 1) const bool halves = false;

#include "common/sequence_row.glsl"

void main() {
    const uint pairs = cols / 2u;
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= rows * pairs) return;
    const uint row = i / pairs;
    const uint pair = i % pairs;
    const vec2 encoding = sine_cosine(phase(position_of(row), turns[pair]));
    const uint at = row * cols + (halves ? pair : 2u * pair);
    const uint next = halves ? pairs : 1u;
    precise const vec2 sum = vec2(x[at], x[at + next]) + encoding; // rounds once, and is not fused with the polynomial
    y[at] = sum.x;
    y[at + next] = sum.y;
}
