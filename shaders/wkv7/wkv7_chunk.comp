// What a chunk of 16 tokens does to a memory of RWKV-7: the matrices of chunk.glsl. A row of M fades by W(t) from the
// beginning of the chunk to the token t. Where n is the old key, of the length 1, c what it corrects (rate * n) and k
// the key that is written, the old values U = n * M, which corrections are made of, and the results are
//
//     U(t) = (n(t) * W(t - 1)) * M + sum over s < t of (n(t) * W(t - 1) / W(s)) * (k(s) * V(s) - c(s) * U(s))
//     Y(t) = (q(t) * W(t)) * M + sum over s <= t of (q(t) * W(t) / W(s)) * (k(s) * V(s) - c(s) * U(s))
//
// So U = mix * V + recall * M, where both matrices follow by forward substitution, row by row. A row keeps at least
// exp(-exp(-1/2)) = 0.545 from token to token, so W is 6e-5 or more, and 1 / W loses nothing.
//
// query, fading, key, rate (sequences, steps, heads, key_dim); lengths (sequences); old_key, key_rate (heads, key_dim);
// chunks (sequences, heads, chunks, ...).
// Dispatch: one workgroup per chunk and head; keys have at most 128 channels, one for each invocation. Tokens that do
// not count change nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "wkv7/token.glsl"

layout(local_size_x = 128) in;
WKV7_PUSH
layout(std430, set = 0, binding = 0) readonly buffer Query { float query[]; };
layout(std430, set = 0, binding = 1) readonly buffer Fading { float fading[]; };
layout(std430, set = 0, binding = 2) readonly buffer Key { float key[]; };
layout(std430, set = 0, binding = 3) readonly buffer Rate { float rate[]; };
layout(std430, set = 0, binding = 4) readonly buffer Lengths { int lengths[]; };
WEIGHT(old_key, 5, 3)
WEIGHT(key_rate, 6, 0)
layout(std430, set = 0, binding = 7) writeonly buffer Chunks { float chunks[]; };
layout(constant_id = 2) const bool HAS_LENGTHS = false;
#define CHUNK_ADDS 1u
#define CHUNK_CORRECTS 1u
#include "common/chunk.glsl"

const uint PIECE = 16u; // channels
const uint OLD = 0u, READ = 1u, WRITTEN = 2u, CORRECTED = 3u;
shared float staged[4u * CHUNK * PIECE]; // of a piece: old keys and queries times W, keys and corrections divided by it
shared float sums[CHUNK * 8u];           // of squares of old keys, in eight parts
shared float per_square[CHUNK];          // 1 / (the squared length of an old key + key_eps)
// Old keys and queries with corrections; old keys and queries with keys; the matrix `mix`.
shared float old_corrected[CHUNK * CHUNK], read_corrected[CHUNK * CHUNK], old_written[CHUNK * CHUNK],
    read_written[CHUNK * CHUNK], mixes[CHUNK * CHUNK];

void main() {
    const uint per_head = (steps + CHUNK - 1u) / CHUNK, number = workgroup_number();
    if (number >= sequences * heads * per_head) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, head = number / per_head % heads, sequence = number / per_head / heads;
    const uint first = number % per_head * CHUNK, end = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    if (first >= end) return; // likewise
    const uint count = min(end - first, CHUNK), chunk = number * CHUNK_SIZE;
    const uint keys = ((sequence * steps + first) * heads + head) * key_dim, width = heads * key_dim;

    float old[CHUNK], read[CHUNK], written[CHUNK], corrected[CHUNK], left = 1.0; // `left`: W
    [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
        old[r] = read[r] = written[r] = corrected[r] = 0.0;
        if (id < key_dim && r < count) {
            const uint at = keys + r * width + id;
            const float share = sigmoid(rate[at]), of_old = key[at] * old_key(head * key_dim + id);
            old[r] = of_old * left;
            left *= exp(-0.60653065971263342 * sigmoid(fading[at])); // exp(-1/2)
            read[r] = query[at] * left;
            written[r] = written_key(key[at], share, key_rate(head * key_dim + id)) / left;
            corrected[r] = share * of_old / left;
        }
    }
    const uint t = id / 8u, other = id % 8u; // an invocation has products of a token with two others
    float square = 0.0;
    for (uint c = other; c < key_dim && t < count; c += 8u) {
        const float of_old = key[keys + t * width + c] * old_key(head * key_dim + c);
        square += of_old * of_old;
    }
    sums[id] = square;
    vec4 products[2] = vec4[2](vec4(0.0), vec4(0.0));
    for (uint piece = 0u; piece < key_dim; piece += PIECE) {
        barrier();
        if (id >= piece && id < piece + PIECE)
            [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
                const uint at = r * PIECE + id - piece;
                staged[OLD * CHUNK * PIECE + at] = old[r];
                staged[READ * CHUNK * PIECE + at] = read[r];
                staged[WRITTEN * CHUNK * PIECE + at] = written[r];
                staged[CORRECTED * CHUNK * PIECE + at] = corrected[r];
            }
        barrier();
        for (uint i = 0u; i < PIECE; ++i) {
            const float of_old = staged[(OLD * CHUNK + t) * PIECE + i], of_read = staged[(READ * CHUNK + t) * PIECE + i];
            [[unroll]] for (uint o = 0u; o < 2u; ++o) {
                const uint s = other + o * 8u;
                const float of_written = staged[(WRITTEN * CHUNK + s) * PIECE + i];
                const float of_corrected = staged[(CORRECTED * CHUNK + s) * PIECE + i];
                products[o] += vec4(of_old * of_corrected, of_read * of_corrected, of_old * of_written, of_read * of_written);
            }
        }
    }
    if (id < CHUNK) {
        float sum = key_eps;
        for (uint l = 0u; l < 8u; ++l) sum += sums[id * 8u + l];
        per_square[id] = id < count ? 1.0 / sum : 0.0;
    }
    barrier();
    [[unroll]] for (uint o = 0u; o < 2u; ++o) {
        const uint s = other + o * 8u, at = t * CHUNK + s;
        old_corrected[at] = s < t ? products[o].x * per_square[s] : 0.0;
        read_corrected[at] = s <= t ? products[o].y * per_square[s] : 0.0;
        old_written[at] = s < t ? products[o].z : 0.0;
        read_written[at] = s <= t ? products[o].w : 0.0;
    }
    barrier();
    if (id < CHUNK) { // a column of `mix`
        float of_column[CHUNK];
        [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
            float v = old_written[r * CHUNK + id];
            [[unroll]] for (uint s = 0u; s < r; ++s) v -= old_corrected[r * CHUNK + s] * of_column[s];
            of_column[r] = v;
            mixes[r * CHUNK + id] = v;
            chunks[chunk + CHUNK_MIX + r * CHUNK + id] = v;
        }
    }
    barrier();
    [[unroll]] for (uint o = 0u; o < 2u; ++o) {
        const uint s = other + o * 8u;
        float own = read_written[t * CHUNK + s];
        for (uint i = 0u; i <= t; ++i) own -= read_corrected[t * CHUNK + i] * mixes[i * CHUNK + s];
        chunks[chunk + CHUNK_OWN + t * CHUNK + s] = own;
    }
    if (id >= CHUNK_DIM) return;
    // A column of the matrices that M is multiplied by, and what a row of M gets.
    float recalls[CHUNK];
    [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
        float recall = old[r], of_memory = read[r];
        [[unroll]] for (uint s = 0u; s < r; ++s) recall -= old_corrected[r * CHUNK + s] * recalls[s];
        recalls[r] = recall;
        [[unroll]] for (uint s = 0u; s <= r; ++s) of_memory -= read_corrected[r * CHUNK + s] * recalls[s];
        chunks[chunk + CHUNK_RECALL + r * CHUNK_DIM + id] = recall;
        chunks[chunk + CHUNK_READ + r * CHUNK_DIM + id] = of_memory;
        chunks[chunk + CHUNK_ADD + id * CHUNK + r] = written[r] * left;
        chunks[chunk + CHUNK_CORRECT + id * CHUNK + r] = -corrected[r] * per_square[r] * left;
    }
    chunks[chunk + CHUNK_FADE + id] = left;
}
