// Learned positions of a grid, resampled to a grid of another size, and added.
//
// x, y (B, rows, columns), `size` elements in all; coordinates (B, rows, 2); sizes (B, 2); table (side, side, columns).
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint columns;
    uint rows;
    uint side;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Coordinates { uint coordinates[]; }; // below 2^16
layout(std430, set = 0, binding = 2) readonly buffer Sizes { uint sizes[]; };
WEIGHT(table, 3, 0)
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

// The row of the table before a place, and how far the place is from it towards the next. Whole numbers decide which
// row it is, since quotients of floats are not rounded alike everywhere.
uint row_before(uint coordinate, uint count, out float part) {
    const uint steps = coordinate * (side - 1u), of_step = max(count - 1u, 1u), row = steps / of_step;
    part = row < side - 1u ? float(steps % of_step) / float(of_step) : 0.0;
    return min(row, side - 1u);
}

float position(uint row, uint column, uint channel) { return table((row * side + column) * columns + channel); }

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const uint place = i / columns, channel = i % columns, grid = 2u * (place / rows);
    float down, across;
    const uint top = row_before(coordinates[2u * place], sizes[grid], down);
    const uint left = row_before(coordinates[2u * place + 1u], sizes[grid + 1u], across);
    const uint bottom = min(top + 1u, side - 1u), right = min(left + 1u, side - 1u);
    const float above = mix(position(top, left, channel), position(top, right, channel), across);
    const float below = mix(position(bottom, left, channel), position(bottom, right, channel), across);
    y[i] = x[i] + mix(above, below, down);
}
