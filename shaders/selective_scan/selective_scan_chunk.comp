// What a chunk of 16 tokens does to a state by the selective scan of Mamba-2: the matrices of chunk.glsl. With
// f(t, s) = what is left of the token s after the token t, and V the tokens' values:
//
//     Y(t) = f(t, -1) * q(t) * H + sum over s <= t of f(t, s) * moved(s) * (q(t) * k(s)) * V(s) + skip * V(t)
//
// x (sequences, steps, values | keys | queries); step (sequences, steps, heads); lengths (sequences); chunks (sequences,
// heads, chunks, ...).
// Dispatch: one workgroup per chunk and head; keys have at most 128 channels. Tokens that do not count have keys and
// queries of 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/expm1.glsl"
#include "common/softplus.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
    uint sequences;
    uint steps;
    uint heads;
    uint groups;
    uint key_dim; // state_dim
    uint value_dim;
    float min_step;
    float max_step;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Step { float step_of[]; };
layout(std430, set = 0, binding = 2) readonly buffer Lengths { int lengths[]; };
WEIGHT(log_rate, 3, 0)
WEIGHT(offset, 4, 1)
WEIGHT(skip, 5, 2)
layout(std430, set = 0, binding = 6) writeonly buffer Chunks { float chunks[]; };
layout(constant_id = 4) const bool HAS_LENGTHS = false;
#define CHUNK_ADDS 1u
#define CHUNK_CORRECTS 0u
#include "common/chunk.glsl"

shared float moves[CHUNK];           // of a token
shared vec4 staged[2u * CHUNK * 8u]; // 32 channels of keys, then of queries

// Of the tokens from `begin` to before `end`. A difference of two sums from the first token on would have lost what is
// small beside a token that moves a state a lot.
float sum_of_moves(uint begin, uint end) {
    float sum = 0.0;
    [[dont_unroll]] for (uint s = begin; s < end; ++s) sum += moves[s];
    return sum;
}

void main() {
    const uint per_head = (steps + CHUNK - 1u) / CHUNK, number = workgroup_number();
    if (number >= sequences * heads * per_head) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, head = number / per_head % heads, sequence = number / per_head / heads;
    const uint first = number % per_head * CHUNK, end = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    if (first >= end) return; // likewise
    const uint count = min(end - first, CHUNK), chunk = number * CHUNK_SIZE;
    const uint width = heads * value_dim + 2u * groups * key_dim, row = (sequence * steps + first) * width;
    const uint keys = row + heads * value_dim + head / (heads / groups) * key_dim, queries = keys + groups * key_dim;

    if (id < CHUNK) {
        const uint at = (sequence * steps + first + id) * heads + head;
        moves[id] = id < count ? clamp(softplus(step_of[at] + offset(head)), min_step, max_step) : 0.0;
    }
    // Products of all queries with keys: an invocation has those of a token with two others.
    const uint t = id / 8u, other = id % 8u;
    float qk[2] = float[2](0.0, 0.0);
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
        for (uint i = 0u; i < 8u; ++i)
            [[unroll]] for (uint o = 0u; o < 2u; ++o)
                qk[o] += dot(staged[(CHUNK + t) * 8u + i], staged[(other + o * 8u) * 8u + i]);
    }
    const float rate = min(exp(log_rate(head)), 3.4e38); // infinite, it would make 0 times itself no number
    [[unroll]] for (uint o = 0u; o < 2u; ++o) {
        const uint s = other + o * 8u;
        float own = s <= t ? exp(-rate * sum_of_moves(s + 1u, t + 1u)) * moves[s] * qk[o] : 0.0;
        if (s == t && skip_dtype != 0u) own += skip(head);
        chunks[chunk + CHUNK_OWN + t * CHUNK + s] = own;
    }
    if (id >= CHUNK_DIM) return;
    float sum = 0.0;
    [[dont_unroll]] for (uint r = 0u; r < CHUNK; ++r) {
        sum += moves[r];
        const bool there = id < key_dim && r < count;
        const float key = there ? x[keys + r * width + id] : 0.0, query = there ? x[queries + r * width + id] : 0.0;
        chunks[chunk + CHUNK_READ + r * CHUNK_DIM + id] = exp(-rate * sum) * query;
        chunks[chunk + CHUNK_ADD + id * CHUNK + r] =
            exp(-rate * sum_of_moves(r + 1u, CHUNK)) * moves[r] * key;
    }
    // Not exp(): a state that hardly fades is multiplied many times.
    chunks[chunk + CHUNK_FADE + id] = expm1(-rate * sum);
}
