// What attention with rotary positions does with new queries, keys and values, in one dispatch: queries are rotated, keys
// are rotated and written into their cache, and values are written into theirs.
//
// q (rows, heads*D), k and v (rows, kv_heads*D), where rows are (B, T) or (T, B) according to the strides; position (B);
// coordinates (rows, A), by which they are rotated instead; frequencies (A, P), in radians per position; turned like q; caches (B, M) rows like k, f32, f16 with two values a word,
// or q8_0 with 64 values in 17 words.
// Row t of sequence b goes to row position[b] + t; rows at or beyond the end of a cache are not written.
// Dispatch: one invocation per word that is written, or per 64 values in q8_0, first those of q, then k, then v.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/half.glsl"
#include "common/q8_cache.glsl"
#include "common/sinusoid.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint batch, length;             // B, T
    uint batch_stride, time_stride; // in rows
    uint heads, kv_heads;
    uint depth;      // D: the channels of a head
    uint pairs;      // P: those that are rotated, by two
    uint cache_rows; // M
    uint axes;       // A
    float magnitude;
};
layout(constant_id = 0) const bool has_offset = false;
layout(constant_id = 1) const bool HALVES = false;       // a pair is channels i and i + P, else 2 i and 2 i + 1
// Of the caches, as in plugin.h: f32, f16 or q8_0. kv_heads*D is a multiple of what an invocation writes.
layout(constant_id = 2) const uint KEYS = 1u;
layout(constant_id = 3) const uint VALUES = 1u;
layout(constant_id = 4) const bool has_coordinates = false;

layout(std430, set = 0, binding = 0) readonly buffer Q { float q[]; };
layout(std430, set = 0, binding = 1) readonly buffer K { float k[]; };
layout(std430, set = 0, binding = 2) readonly buffer V { float v[]; };
layout(std430, set = 0, binding = 3) readonly buffer Position { uint offset[]; };
layout(std430, set = 0, binding = 4) readonly buffer Frequencies { float frequencies[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Turned { float turned[]; };
layout(std430, set = 0, binding = 6) writeonly buffer KeyCache { uint key_cache[]; };
layout(std430, set = 0, binding = 7) writeonly buffer ValueCache { uint value_cache[]; };
layout(std430, set = 0, binding = 8) readonly buffer Coordinates { uint coordinates[]; };

#include "common/rotation.glsl"

// The channel's partner in its pair, and whether it is the second of the two; itself if it is not rotated.
struct Pair {
    uint number, partner;
    bool second;
};
Pair pair_of(uint channel) {
    if (channel >= 2u * pairs) return Pair(pairs, channel, false);
    if (HALVES) {
        const bool second = channel >= pairs;
        return Pair(second ? channel - pairs : channel, second ? channel - pairs : channel + pairs, second);
    }
    return Pair(channel / 2u, channel ^ 1u, (channel & 1u) != 0u);
}

// Where a row is: its number, and its position in its sequence.
struct Place {
    uint row, position;
};
vec2 turn_in(Place place, uint pair) {
    return magnitude * (has_coordinates ? turn_at(place.row, pair) : turn_of(place.position, pair));
}

float rotated(float own, float other, bool second, vec2 turn) {
    return second ? other * turn.x + own * turn.y : own * turn.y - other * turn.x;
}

float rotated_query(uint at, Place place) {
    const Pair pair = pair_of(at % depth);
    if (pair.number == pairs) return q[at];
    return rotated(q[at], q[at - at % depth + pair.partner], pair.second, turn_in(place, pair.number));
}
float rotated_key(uint at, Place place) {
    const Pair pair = pair_of(at % depth);
    if (pair.number == pairs) return k[at];
    return rotated(k[at], k[at - at % depth + pair.partner], pair.second, turn_in(place, pair.number));
}

// What an invocation writes of a cache.
uint together(uint dtype) { return dtype == 2u ? 2u : dtype == 16u ? 64u : 1u; }

float value(uint i) { return v[i]; }
Place of_keys; // of the row that they are from
float key(uint i) { return rotated_key(i, of_keys); }

#define PUT(cache, dtype, to, get, from)                                                                               \
    if (dtype == 16u) PUT_Q8_BLOCKS(cache, (to) * 17u, get, from)                                                      \
    else if (dtype == 2u)                                                                                              \
        cache[to] = narrow_f16(floatBitsToUint(get(from))) | narrow_f16(floatBitsToUint(get(from + 1u))) << 16;        \
    else cache[to] = floatBitsToUint(get(from));

void main() {
    uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    const uint rows = batch * length, query_words = rows * heads * depth;
    if (i < query_words) {
        const uint row = i / (heads * depth), b = row / batch_stride % batch, t = row / time_stride % length;
        turned[i] = rotated_query(i, Place(row, (has_offset ? offset[b] : 0u) + t));
        return;
    }
    i -= query_words;
    const uint width = kv_heads * depth, key_pieces = width / together(KEYS);
    const bool is_key = i < rows * key_pieces;
    if (!is_key) i -= rows * key_pieces;
    const uint pieces = is_key ? key_pieces : width / together(VALUES);
    const uint row = i / pieces, piece = i % pieces;
    if (row >= rows) return;
    const uint b = row / batch_stride % batch;
    of_keys = Place(row, (has_offset ? offset[b] : 0u) + row / time_stride % length);
    if (of_keys.position >= cache_rows) return;
    const uint to = (b * cache_rows + of_keys.position) * pieces + piece;
    const uint from = row * width + piece * together(is_key ? KEYS : VALUES);
    if (is_key) {
        PUT(key_cache, KEYS, to, key, from)
    } else {
        PUT(value_cache, VALUES, to, value, from)
    }
}
