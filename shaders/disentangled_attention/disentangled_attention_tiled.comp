// Disentangled attention with shared memory, for GPUs. disentangled_attention.comp says what it computes, operands.glsl
// has the shapes.
//
// Dispatch: a workgroup of 128, as 16 x 8, computes 32 queries of a head. Keys are processed 32 at a time, and channels
// 16 at a time for the scores. Between 32 queries and 32 keys there are 63 distances, so the rows of pos_key and
// pos_query that they need fit into shared memory, too, and each of the three products reads tiles alone. An invocation
// has two queries: it computes 2 x 4 scores of each block of keys, and sums 2 x 4 of each 32 channels. Head dims up to
// 128, as registers of phones allow.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "operands.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint SLICES = 4u; // of 32 channels in a head; at most 4

const float HIDDEN_SCORE = -3.0e38; // of a key that does not exist: below LEAST

// Each row has one more than is used, which spreads rows over the memory banks.
const uint LINE = 5u, SHARES = 33u, DISTANCES = 63u;
shared vec4 q_tile[32u * LINE];        // [query][channel / 4]
shared vec4 kv_tile[64u * LINE];       // [key][channel / 4]: of 16 channels of K, or 32 of V as two rows
shared vec4 key_tile[DISTANCES * LINE];   // [distance][channel / 4]
shared vec4 query_tile[DISTANCES * LINE]; // [distance][channel / 4]
shared float share[32u * SHARES];      // [query][key]: scores, then their exponentials

void main() {
    const uint blocks = (length + 31u) / 32u;
    uint n = workgroup_number();
    const uint first_query = n % blocks * 32u;
    n /= blocks;
    const uint head = n % heads, b = n / heads;
    if (b >= batch) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x, low = lane % 8u, high = lane / 8u;
    const uint own = high * SHARES, other = own + 16u * SHARES; // of this invocation's queries, high and high + 16
    const uint keys = keys_of(b);
    const uint channel = lane % 16u, first_row = lane / 16u; // what it loads: this channel of every eighth row

    vec2 greatest = vec2(LEAST), total = vec2(0.0);
    vec4 sum0[SLICES], sum1[SLICES];
    [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum0[s] = sum1[s] = vec4(0.0);

    for (uint first = 0u; first < keys; first += 32u) {
        const int nearest = int(first_query) - int(first) - 31; // the distance of row 0 of the tiles
        vec4 score0 = vec4(0.0), score1 = vec4(0.0);            // of keys low, low + 8, low + 16, low + 24
        for (uint from = 0u; from < head_dim; from += 16u) {
            const uint c = from + channel, to = channel / 4u;
            const bool inside = c < head_dim;
            barrier();
            for (uint row = first_row; row < 32u; row += 8u) {
                const uint q_at = head_at(b, min(first_query + row, length - 1u), head);
                const uint k_at = head_at(b, min(first + row, keys - 1u), head);
                q_tile[row * LINE + to][channel % 4u] = inside ? q[q_at + c] : 0.0;
                kv_tile[row * LINE + to][channel % 4u] = inside ? k[k_at + c] : 0.0;
            }
            for (uint row = first_row; row < DISTANCES; row += 8u) {
                const uint at = distance_at(nearest + int(row), head) + c;
                if (BY_KEY) key_tile[row * LINE + to][channel % 4u] = inside ? pos_key(at) : 0.0;
                if (BY_QUERY) query_tile[row * LINE + to][channel % 4u] = inside ? pos_query(at) : 0.0;
            }
            barrier();
            for (uint i = 0u; i < 4u; ++i) {
                const vec4 a0 = q_tile[high * LINE + i], a1 = q_tile[(high + 16u) * LINE + i];
                [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                    const vec4 key = kv_tile[(low + 8u * j) * LINE + i];
                    const uint at0 = (31u + high - low - 8u * j) * LINE + i, at1 = at0 + 16u * LINE;
                    score0[j] += dot(a0, key);
                    score1[j] += dot(a1, key);
                    if (BY_KEY) score0[j] += dot(a0, key_tile[at0]), score1[j] += dot(a1, key_tile[at1]);
                    if (BY_QUERY) score0[j] += dot(key, query_tile[at0]), score1[j] += dot(key, query_tile[at1]);
                }
            }
        }

        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            const bool kept = first + low + 8u * j < keys;
            score0[j] *= scale;
            score1[j] *= scale;
            share[own + low + 8u * j] = kept ? score0[j] : HIDDEN_SCORE;
            share[other + low + 8u * j] = kept ? score1[j] : HIDDEN_SCORE;
        }
        barrier();
        vec2 peak = greatest;
        for (uint j = 0u; j < 32u; ++j) peak = max(peak, vec2(share[own + j], share[other + j]));
        barrier();
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            share[own + low + 8u * j] = exp(score0[j] - peak.x);
            share[other + low + 8u * j] = exp(score1[j] - peak.y);
        }
        barrier();
        const vec2 shrink = exp(greatest - peak);
        greatest = peak;
        vec2 added = vec2(0.0);
        const uint count = min(32u, keys - first);
        for (uint j = 0u; j < count; ++j) added += vec2(share[own + j], share[other + j]);
        total = total * shrink + added;

        [[unroll]] for (uint s = 0u; s < SLICES; ++s) {
            barrier();
            for (uint row = first_row; row < 64u; row += 8u) { // the two halves of 32 channels
                const uint c = s * 32u + row / 32u * 16u + channel;
                const uint v_at = head_at(b, min(first + row % 32u, keys - 1u), head);
                kv_tile[row * LINE + channel / 4u][channel % 4u] = c < head_dim ? v[v_at + c] : 0.0;
            }
            barrier();
            const uint v_at = low / 4u * 32u * LINE + low % 4u;
            vec4 added0 = vec4(0.0), added1 = vec4(0.0);
            for (uint j = 0u; j < count; ++j) {
                const vec4 value = kv_tile[v_at + j * LINE];
                added0 += share[own + j] * value;
                added1 += share[other + j] * value;
            }
            sum0[s] = sum0[s] * shrink.x + added0;
            sum1[s] = sum1[s] * shrink.y + added1;
        }
    }

    const vec2 norm = mix(1.0 / total, vec2(0.0), equal(total, vec2(0.0)));
    const uint y_at = head_at(b, first_query + high, head), other_y = y_at + 16u * heads * head_dim;
    [[unroll]] for (uint s = 0u; s < SLICES; ++s)
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            const uint c = s * 32u + low * 4u + i;
            if (c >= head_dim) continue;
            if (first_query + high < length) y[y_at + c] = sum0[s][i] * norm.x;
            if (first_query + high + 16u < length) y[other_y + c] = sum1[s][i] * norm.y;
        }
}
