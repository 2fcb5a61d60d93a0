// Shared by the kernels of disentangled attention: their operands.
//
// q, k, v, y (B T heads D); key_lengths (B); rows (2 T - 1): the row of pos_key and pos_query for each distance from a
// key to a query, from 1 - T on; pos_key, pos_query (rows, heads D). Lengths and weights may be left out.

#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(push_constant) uniform Push {
    uint batch;
    uint length; // T
    uint heads;
    uint head_dim; // D
    float scale;
    uint has_lengths;
};
layout(std430, set = 0, binding = 0) readonly buffer Q { float q[]; };
layout(std430, set = 0, binding = 1) readonly buffer K { float k[]; };
layout(std430, set = 0, binding = 2) readonly buffer V { float v[]; };
layout(std430, set = 0, binding = 3) readonly buffer Lengths { int key_lengths[]; };
layout(std430, set = 0, binding = 4) readonly buffer Rows { uint rows[]; };
WEIGHT(pos_key, 5, 0)
WEIGHT(pos_query, 6, 1)
layout(std430, set = 0, binding = 7) writeonly buffer Y { float y[]; };

const bool BY_KEY = pos_key_dtype != 0u, BY_QUERY = pos_query_dtype != 0u;

// Where the search for the largest score begins: finite, so that exp(LEAST - LEAST) is a number.
const float LEAST = -1.7e38;

uint keys_of(uint b) { return has_lengths != 0u ? min(uint(key_lengths[b]), length) : length; }
// Where a head begins in q, k, v or y.
uint head_at(uint b, uint t, uint head) { return ((b * length + t) * heads + head) * head_dim; }
// Where it begins in pos_key and pos_query, for a query that is `distance` after the key.
uint distance_at(int distance, uint head) {
    const int last = int(length) - 1;
    return (rows[uint(clamp(distance, -last, last) + last)] * heads + head) * head_dim;
}
