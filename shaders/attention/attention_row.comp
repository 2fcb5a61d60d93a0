// Attention in which a whole workgroup computes one query row of one head, for the few queries of a generation step on
// GPUs. attend_registers.glsl says what it computes, keys.glsl has the shapes.
//
// Dispatch: a workgroup of 128 per query row of a head, or per part of its keys, which merge.comp then joins. Keys are
// processed 128 at a time. Each invocation computes the score of one of them, then sums every 128th channel over all of
// them, so that neighbouring invocations read neighbouring values of V.
//
// A key that the query may not attend to is marked in `share` and skipped, so its value has no effect, even if it is
// NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "keys.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 6) const uint SLICES = 8u;    // of 128 channels in a head; at most 8
layout(constant_id = 7) const uint PART_KEYS = 0u; // keys in a part; 0: all are one

const float HIDDEN_SCORE = -3.0e38; // below LEAST
const float HIDDEN_SHARE = -1.0;

shared float share[128]; // of each key: its score, then its exponential

void main() {
    uint n = workgroup_number();
    const uint parts = PART_KEYS == 0u ? 1u : (key_rows + PART_KEYS - 1u) / PART_KEYS, part = n % parts;
    n /= parts;
    const uint head = n % heads;
    n /= heads;
    const uint t = n % queries, b = n / queries;
    if (b >= batch) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x;
    const uint kv_head = head / (heads / kv_heads);
    const uint q_at = (query_row(b, t) * heads + head) * head_dim;
    uint begin = keys_begin(b, t), end = keys_end(b, t);
    if (PART_KEYS != 0u) begin = max(begin, part * PART_KEYS), end = min(end, part * PART_KEYS + PART_KEYS);

    float greatest = LEAST, total = 0.0;
    float sum[SLICES];
    [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum[s] = 0.0;

    for (uint first = begin; first < end; first += 128u) {
        const uint key = first + lane;
        const bool kept = key < end && is_kept(b, t, key);
        float score = HIDDEN_SCORE;
        if (kept) {
            const uint k_at = (key_row(b, key) * kv_heads + kv_head) * head_dim;
            score = 0.0;
            // Eight loads are on their way at a time: with one, a GPU would wait for each.
            for (uint d = 0u; d < head_dim; d += 8u) {
                float q_d[8], k_d[8];
                [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                    const uint c = min(d + i, head_dim - 1u);
                    q_d[i] = d + i < head_dim ? q[q_at + c] * scale : 0.0;
                    k_d[i] = k(k_at + c);
                }
                [[unroll]] for (uint i = 0u; i < 8u; ++i) score += d + i < head_dim ? q_d[i] * k_d[i] : 0.0;
            }
            score = score_of(score, b, head, t, key);
        }
        barrier(); // the previous shares are no longer needed
        share[lane] = score;
        barrier();
        float peak = greatest;
        for (uint j = 0u; j < 128u; ++j) peak = max(peak, share[j]);
        barrier();
        share[lane] = kept ? exp(score - peak) : HIDDEN_SHARE;
        barrier();

        const float shrink = exp(greatest - peak);
        greatest = peak;
        float added = 0.0, added_sum[SLICES];
        [[unroll]] for (uint s = 0u; s < SLICES; ++s) added_sum[s] = 0.0;
        for (uint at = 0u; at < min(128u, end - first); at += 8u) { // keys beyond the end are hidden
            [[unroll]] for (uint j = 0u; j < 8u; ++j) added += max(share[at + j], 0.0);
            [[unroll]] for (uint s = 0u; s < SLICES; ++s) {
                float value[8];
                [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                    const uint v_at = (key_row(b, min(first + at + j, end - 1u)) * kv_heads + kv_head) * head_dim;
                    value[j] = v(v_at + min(s * 128u + lane, head_dim - 1u));
                }
                [[unroll]] for (uint j = 0u; j < 8u; ++j)
                    added_sum[s] += share[at + j] < 0.0 ? 0.0 : share[at + j] * value[j];
            }
        }
        total = total * shrink + added;
        [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum[s] = sum[s] * shrink + added_sum[s];
    }

    // A part's sums are stored undivided, followed by their largest score and the sum of exponentials.
    const uint o_at = PART_KEYS == 0u ? q_at : (((b * queries + t) * heads + head) * parts + part) * (head_dim + 2u);
    const float norm = PART_KEYS != 0u ? 1.0 : total == 0.0 ? 0.0 : 1.0 / total;
    [[unroll]] for (uint s = 0u; s < SLICES; ++s)
        if (s * 128u + lane < head_dim) o[o_at + s * 128u + lane] = sum[s] * norm;
    if (PART_KEYS != 0u && lane == 0u) o[o_at + head_dim] = greatest, o[o_at + head_dim + 1u] = total;
}
