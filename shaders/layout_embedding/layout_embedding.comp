// Learned embeddings of boxes, added: a row of channels for left, top, right and bottom, `of_place` each, and for
// height and width, `of_side` each.
//
// x, y (B, T, columns), `size` elements in all; boxes (B, T, 4); tables (M, of_place) and (M, of_side).
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint columns;
    uint of_place;
    uint of_side;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Boxes { int boxes[]; }; // I32, checked by the host: below M
WEIGHT(x_table, 2, 0)
WEIGHT(y_table, 3, 1)
WEIGHT(height_table, 4, 2)
WEIGHT(width_table, 5, 3)
layout(std430, set = 0, binding = 6) writeonly buffer Y { float y[]; };

// How long a box is in a direction: 0 across, 1 down.
uint side(uint box, uint direction) { return uint(max(boxes[box + 2u + direction] - boxes[box + direction], 0)); }

float embedding(uint box, uint channel) {
    const uint place = channel / of_place;
    if (place < 4u) {
        const uint i = uint(boxes[box + place]) * of_place + channel % of_place;
        return place % 2u == 0u ? x_table(i) : y_table(i);
    }
    const uint rest = channel - 4u * of_place, i = rest % of_side;
    return rest < of_side ? height_table(side(box, 1u) * of_side + i) : width_table(side(box, 0u) * of_side + i);
}

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    y[i] = x[i] + embedding(4u * (i / columns), i % columns);
}
