// What a chunk of 16 tokens does to a memory by the gated delta rule: the matrices of chunk.glsl. With queries q and keys
// k of the length 1, q divided by sqrt(key_dim), and f(t, s) = fade of tokens s + 1 to t together, corrections C are
//
//     C(t) = write(t) * (V(t) - f(t, -1) * k(t) * M - sum over s < t of f(t, s) * (k(t) * k(s)) * C(s))
//     Y(t) = f(t, -1) * q(t) * M + sum over s <= t of f(t, s) * (q(t) * k(s)) * C(s)
//
// So C = mix * V + recall * M, where both matrices follow by forward substitution, row by row.
//
// x (sequences, steps, queries | keys | values); fading, writing (sequences, steps, heads); lengths (sequences); chunks
// (sequences, heads, chunks, ...).
// Dispatch: one workgroup per chunk and head; keys have at most 128 channels. Tokens that do not count have keys and
// queries of 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/activation.glsl"
#include "common/softplus.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
    uint sequences;
    uint steps;
    uint heads;
    uint key_heads;
    uint key_dim;
    uint value_dim;
    float eps;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Fading { float fading[]; };
layout(std430, set = 0, binding = 2) readonly buffer Writing { float writing[]; };
layout(std430, set = 0, binding = 3) readonly buffer Lengths { int lengths[]; };
WEIGHT(log_rate, 4, 0)
WEIGHT(offset, 5, 1)
layout(std430, set = 0, binding = 6) writeonly buffer Chunks { float chunks[]; };
layout(constant_id = 3) const bool HAS_LENGTHS = false;
layout(constant_id = 4) const bool TILED = false;
#define CHUNK_ADDS 0u
#define CHUNK_CORRECTS 1u
#include "common/chunk.glsl"

shared float losses[CHUNK], shares[CHUNK];   // the logarithms of fades; how much is written
shared float before[CHUNK], after[CHUNK];    // all fades up to a token, and all that follow it
shared float of_query[CHUNK], of_key[CHUNK]; // what brings them to their length
shared vec4 staged[2u * CHUNK * 8u];         // 32 channels of keys, then of queries
shared float by_key[CHUNK * CHUNK], by_query[CHUNK * CHUNK], mixed[CHUNK * CHUNK];

// How far the tokens [begin, end) fade a memory, for each of two begins. Their losses are summed here, and not taken as
// the difference of two sums from the first token on, which would lose what is small beside a token that fades a lot.
vec2 fades(uvec2 begin, uint end) {
    vec2 sums = vec2(0.0);
    [[dont_unroll]] for (uint s = begin.x; s < end; ++s) sums += vec2(losses[s], s < begin.y ? 0.0 : losses[s]);
    return exp(sums);
}

void main() {
    const uint per_head = (steps + CHUNK - 1u) / CHUNK, number = workgroup_number();
    if (number >= sequences * heads * per_head) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, head = number / per_head % heads, sequence = number / per_head / heads;
    const uint first = number % per_head * CHUNK, end = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    if (first >= end) return; // likewise
    const uint count = min(end - first, CHUNK), chunk = number * CHUNK_SIZE;
    const uint key_head = TILED ? head % key_heads : head / (heads / key_heads);
    const uint width = 2u * key_heads * key_dim + heads * value_dim, row = (sequence * steps + first) * width;
    const uint queries = row + key_head * key_dim, keys = row + (key_heads + key_head) * key_dim;

    if (id < CHUNK) {
        const uint gate = (sequence * steps + first + id) * heads + head;
        losses[id] = id < count ? -exp(log_rate(head)) * softplus(fading[gate] + offset(head)) : 0.0;
        shares[id] = id < count ? times_sigmoid(1.0, writing[gate]) : 0.0;
    }
    // Products of all keys and queries with keys: an invocation has those of a token with two others.
    const uint t = id / 8u, other = id % 8u;
    float kk[2] = float[2](0.0, 0.0), qk[2] = float[2](0.0, 0.0), qq = 0.0;
    for (uint piece = 0u; piece < key_dim; piece += 32u) {
        barrier();
        for (uint i = id; i < 2u * CHUNK * 8u; i += 128u) {
            const uint first_c = piece + i % 8u * 4u, token = i / 8u % CHUNK, from = i / 8u < CHUNK ? keys : queries;
            vec4 channels = vec4(0.0);
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                if (first_c + c < key_dim && token < count) channels[c] = x[from + token * width + first_c + c];
            staged[i] = channels;
        }
        barrier();
        for (uint i = 0u; i < 8u; ++i) {
            const vec4 key = staged[t * 8u + i], query = staged[(CHUNK + t) * 8u + i];
            qq += dot(query, query);
            [[unroll]] for (uint o = 0u; o < 2u; ++o) {
                const vec4 earlier = staged[(other + o * 8u) * 8u + i];
                kk[o] += dot(key, earlier);
                qk[o] += dot(query, earlier);
            }
        }
    }
    if (other == t % 8u) {
        of_query[t] = t < count ? inversesqrt(qq + eps) * inversesqrt(float(key_dim)) : 0.0;
        of_key[t] = t < count ? inversesqrt(kk[t / 8u] + eps) : 0.0;
    }
    if (id < CHUNK) {
        before[id] = fades(uvec2(0u), id + 1u).x;
        after[id] = fades(uvec2(id + 1u), CHUNK).x;
    }
    barrier();
    const vec2 left = fades(uvec2(other + 1u, other + 9u), t + 1u); // of these two
    [[unroll]] for (uint o = 0u; o < 2u; ++o) {
        const uint s = other + o * 8u, at = t * CHUNK + s;
        const float fade = s <= t ? left[o] * of_key[s] : 0.0;
        by_key[at] = s < t ? shares[t] * fade * of_key[t] * kk[o] : 0.0;
        by_query[at] = fade * of_query[t] * qk[o];
    }
    barrier();
    if (id < CHUNK) { // a column of `mix`
        float mixes[CHUNK];
        [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
            float v = r == id ? shares[r] : 0.0;
            [[unroll]] for (uint s = 0u; s < r; ++s) v -= by_key[r * CHUNK + s] * mixes[s];
            mixes[r] = v;
            mixed[r * CHUNK + id] = v;
            chunks[chunk + CHUNK_MIX + r * CHUNK + id] = v;
        }
    }
    barrier();
    [[unroll]] for (uint o = 0u; o < 2u; ++o) {
        const uint s = other + o * 8u;
        float own = 0.0;
        for (uint i = 0u; i <= t; ++i) own += by_query[t * CHUNK + i] * mixed[i * CHUNK + s];
        chunks[chunk + CHUNK_OWN + t * CHUNK + s] = own;
    }
    if (id >= CHUNK_DIM) return;
    // A column of the matrices that M is multiplied by, and what corrections add to a row of M.
    float recalls[CHUNK];
    [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
        const bool there = id < key_dim && r < count;
        const float key = there ? of_key[r] * x[keys + r * width + id] : 0.0;
        const float query = there ? of_query[r] * x[queries + r * width + id] : 0.0;
        float recall = -shares[r] * before[r] * key, read = before[r] * query;
        [[unroll]] for (uint s = 0u; s < r; ++s) recall -= by_key[r * CHUNK + s] * recalls[s];
        recalls[r] = recall;
        [[unroll]] for (uint s = 0u; s <= r; ++s) read += by_query[r * CHUNK + s] * recalls[s];
        chunks[chunk + CHUNK_RECALL + r * CHUNK_DIM + id] = recall;
        chunks[chunk + CHUNK_READ + r * CHUNK_DIM + id] = read;
        chunks[chunk + CHUNK_CORRECT + id * CHUNK + r] = after[r] * key;
    }
    chunks[chunk + CHUNK_FADE + id] = before[CHUNK - 1u];
}
