// Shared by the kernels of attention: their operands, and which keys a query may attend to.
//
// Q, O (B Tq rows of heads D); K, V (B key_rows rows of kv_heads D). Rows of Q and O are ordered as in the layer's
// sequence, (B, T) or (T, B). So are rows of K and V, unless they are a cache (B, M). Hence the strides, all in rows.
// key_lengths (B), mask (B, Tk) or (B, Tq, Tk), or instead ahead (B, Tq), first_keys (B) or query_lengths (B),
// score_bias (B, heads, Tq, Tk), by distance (heads, 2 R + 1) or slopes (heads), position (B), sinks (heads): each may
// be left out.

#include "common/cached.glsl"
#include "common/tanh.glsl"

layout(push_constant) uniform Push {
    uint batch;
    uint queries;  // Tq
    uint keys;     // Tk
    uint key_rows; // of K and V in a sequence: Tk, or a cache's M
    uint heads;
    uint kv_heads;
    uint query_batch_stride;
    uint query_time_stride;
    uint key_batch_stride;
    uint key_time_stride;
    uint mask_batch_stride;
    uint mask_query_stride; // 0 if all queries of a sequence share a row
    uint window;            // how many keys, up to its own position, a query attends to; 0: all
    uint reach;             // R of a bias by distance
    float scale;
    float softcap;
    uint head_dim; // D
    uint options;  // a bit for each of these
};

// Push constants, so that drivers, which take long to compile a kernel, need not do it for every combination. They are
// read once per query, HAS_POSITION once more for each score that has a bias by distance, BY_SLOPE for other biases.
#define OPTION(name, number) bool name = (options & 1u << number) != 0u;
OPTION(CAUSAL, 4)
OPTION(CACHED, 5)       // the keys are the queries' own, after those of earlier steps
OPTION(HAS_POSITION, 6) // of the first query in the cache
OPTION(HAS_LENGTHS, 7)
OPTION(TWO_SIDED, 8) // the window ends as far after a query as it begins before it
OPTION(BY_SLOPE, 9)  // the bias, and not BY_DISTANCE
OPTION(HAS_SINKS, 10)
OPTION(HAS_AHEAD, 11) // of these and HAS_MASK one at most
// Read for every score, so they are specialization constants, except in the kernel that takes longest to compile.
#ifndef BUILT_ONCE
#undef OPTION
#define OPTION(name, number) layout(constant_id = 2 + number) const bool name = false;
#endif
OPTION(HAS_MASK, 0)
OPTION(HAS_BIAS, 1)
OPTION(BY_DISTANCE, 2) // the bias
OPTION(HAS_CAP, 3)
OPTION(HAS_FIRST_KEYS, 12)
OPTION(HAS_QUERY_LENGTHS, 13) // few models have it, and others should not pay for it

layout(std430, set = 0, binding = 0) readonly buffer Q { float q[]; };
CACHED(k, 1, 0)
CACHED(v, 2, 1)
layout(std430, set = 0, binding = 3) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 4) readonly buffer Lengths { int key_lengths[]; };
layout(std430, set = 0, binding = 5) readonly buffer Mask { int mask[]; };
layout(std430, set = 0, binding = 6) readonly buffer Bias { float score_bias[]; };
layout(std430, set = 0, binding = 7) writeonly buffer O { float o[]; };
layout(std430, set = 0, binding = 8) readonly buffer Sinks { float sinks[]; };

// The smallest score. It is finite, so that exp(LEAST - LEAST) is a number. A query that may attend to no key keeps it.
const float LEAST = -1.7e38;

// The largest score and the sum of exponentials before any key: a sink is the score of a key whose value is 0.
float first_greatest(uint h) { return HAS_SINKS ? sinks[h] : LEAST; }
float first_total() { return HAS_SINKS ? 1.0 : 0.0; }

uint query_row(uint b, uint t) { return b * query_batch_stride + t * query_time_stride; }
uint key_row(uint b, uint j) { return b * key_batch_stride + j * key_time_stride; }

uint position_of(uint b, uint t) { return (HAS_POSITION ? uint(position[b]) : 0u) + t; }

// The keys of sequence b that query t may attend to end before this one, if it sees so many after its own position,
uint keys_end(uint b, uint t, uint ahead) {
    if (HAS_QUERY_LENGTHS && t >= uint(mask[b])) return 0u;
    uint end = CACHED ? position_of(b, queries) : keys;
    if (HAS_LENGTHS) end = min(end, uint(key_lengths[b]));
    if (CAUSAL) end = min(end, position_of(b, t) + 1u + ahead);
    if (TWO_SIDED) end = min(end, position_of(b, t) + window);
    return min(end, key_rows);
}
uint keys_end(uint b, uint t) { return keys_end(b, t, HAS_AHEAD ? uint(mask[b * queries + t]) : 0u); }
// The same of all queries from `first_t` to t, of which a later one may see less far, or not count.
uint all_keys_end(uint b, uint first_t, uint t) {
    if (HAS_QUERY_LENGTHS) t = max(first_t, min(t, max(uint(mask[b]), 1u) - 1u));
    return keys_end(b, t, HAS_AHEAD ? queries : 0u);
}
// and begin at this one, which may be past the end.
uint keys_begin(uint b, uint t) {
    const uint next = position_of(b, t) + 1u;
    return window != 0u && next > window ? next - window : 0u;
}
// But so many first keys count wherever others begin. Hence a query skips some keys after them.
uint first_keys(uint b) { return HAS_FIRST_KEYS ? uint(mask[b]) : 0u; }
uint skipped_keys(uint b, uint t) { return max(keys_begin(b, t), first_keys(b)) - first_keys(b); }
bool is_skipped(uint j, uint firsts, uint skipped) { return j - firsts < skipped; } // j - firsts wraps if j is a first key
// The key to go on with, after all before `at`.
uint next_key(uint at, uint firsts, uint begin) { return at < firsts ? at : max(at, begin); }
// The same after a block of keys, which is past where they begin unless there are first ones.
uint key_after(uint at, uint firsts, uint begin) { return HAS_FIRST_KEYS ? next_key(at, firsts, begin) : at; }
bool is_kept(uint b, uint t, uint j) {
    return !HAS_MASK || mask[b * mask_batch_stride + t * mask_query_stride + j] != 0;
}
float bias_of(uint b, uint h, uint t, uint j) {
    const uint at = position_of(b, t);
    if (!BY_DISTANCE) {
        if (!BY_SLOPE) return score_bias[((b * heads + h) * queries + t) * keys + j];
        // A query after all keys may as well be at the last one: what that adds to all scores does not count, unless
        // there is a sink beside them.
        const uint end = HAS_LENGTHS ? min(uint(key_lengths[b]), key_rows) : key_rows;
        return -score_bias[h] * float(abs(int(j) - int(HAS_SINKS ? at : min(at, max(end, 1u) - 1u))));
    }
    const int distance = int(j) - int(at), most = int(reach);
    return score_bias[h * (2u * reach + 1u) + uint(most + clamp(distance, -most, most))];
}
// Turns a scaled product into a score.
float score_of(float product, uint b, uint h, uint t, uint j) {
    const float score = HAS_CAP ? softcap * safe_tanh(product / softcap) : product;
    return HAS_BIAS ? score + bias_of(b, h, t, j) : score;
}
