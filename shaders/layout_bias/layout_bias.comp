// Biases by distances in the order of rows and on a page, and which rows are not filler behind a text.
//
// boxes (B, texts, 4); lengths (B); buckets: those of the distances from -farthest to farthest, then from `places` on
// those of distances on the page; table (heads, buckets); x_table, y_table (heads, box_buckets); y (B, heads, rows,
// rows), with `pairs` elements of each head in all; key_mask (B, rows). The rows after those of a text are those of an image: one of the
// whole, then side x side patches.
// Dispatch: one invocation for a query and a key, which writes an element of each head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint pairs;
    uint heads;
    uint texts;
    uint rows;
    uint side;
    uint places;
    int farthest;
    int farthest_place;
    uint table_columns;
    uint box_columns;
    float scale;
};
layout(std430, set = 0, binding = 0) readonly buffer Boxes { int boxes[]; };
layout(std430, set = 0, binding = 1) readonly buffer Lengths { uint lengths[]; };
layout(std430, set = 0, binding = 2) readonly buffer Buckets { uint buckets[]; };
WEIGHT(table, 3, 0)
WEIGHT(x_table, 4, 1)
WEIGHT(y_table, 5, 2)
layout(constant_id = 3) const bool HAS_TABLE = false;
layout(constant_id = 4) const bool HAS_BOXES = false;
layout(std430, set = 0, binding = 6) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = 7) writeonly buffer KeyMask { uint key_mask[]; };

const int LONGEST = 1000; // sides of a page

// Where a row stands: in its text or image; from the left; from the top.
ivec3 place_of(uint b, uint row) {
    if (row < texts) {
        const uint box = 4u * (b * texts + row);
        return ivec3(int(row), boxes[box], boxes[box + 3u]);
    }
    if (row == texts) return ivec3(0, 1, LONGEST - 1);
    const int patch_number = int(row - texts) - 1, sides = int(side);
    return ivec3(patch_number + 1, patch_number % sides * LONGEST / sides,
                 (patch_number / sides + 1) * LONGEST / sides);
}

uint bucket(int distance) { return buckets[uint(clamp(distance, -farthest, farthest) + farthest)]; }
uint box_bucket(int distance) {
    return buckets[places + uint(clamp(distance, -farthest_place, farthest_place) + farthest_place)];
}

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= pairs) return;
    const uint b = i / (rows * rows), pair = i % (rows * rows), key = pair % rows;
    const ivec3 distance = place_of(b, key) - place_of(b, pair / rows);
    if (pair < rows) key_mask[b * rows + key] = key < lengths[b] || key >= texts ? 1u : 0u;
    uint by_order = 0u, across = 0u, down = 0u;
    if (HAS_TABLE) by_order = bucket(distance.x);
    if (HAS_BOXES) across = box_bucket(distance.y), down = box_bucket(distance.z);
    for (uint h = 0u; h < heads; ++h) {
        float sum = 0.0;
        if (HAS_TABLE) sum += table(h * table_columns + by_order);
        if (HAS_BOXES) sum += x_table(h * box_columns + across) + y_table(h * box_columns + down);
        y[(b * heads + h) * rows * rows + pair] = scale * sum;
    }
}
