// Attention in which a whole workgroup computes one query row of one head, for the few queries of a generation step on
// GPUs. attend_registers.glsl says what it computes, keys.glsl has the shapes.
//
// Dispatch: a workgroup of 128 per query row of a head, or per part of its keys, which merge.comp then joins. Keys are
// processed 128 at a time. Each invocation computes the score of one of them. Then it sums one step of channels over the
// keys of its set: there are as many sets as fit, and neighbouring invocations read neighbouring steps of V. Eight loads
// are on their way at a time: with one, a GPU would wait for each.
//
// A key that the query may not attend to is marked in `share` and skipped, so its value has no effect, even if it is
// NaN.

#extension GL_EXT_control_flow_attributes : require
#include "steps.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 6) const uint SLICES = 8u;    // of 128 steps in a head; at most 8
layout(constant_id = 7) const uint PART_KEYS = 0u; // keys in a part; 0: all are one

const float HIDDEN_SCORE = -3.0e38; // below LEAST
const float HIDDEN_SHARE = -1.0;

// Of each key. At last, `scores` are what each invocation has of the sum of exponentials.
shared vec4 scores[32];
shared float share[128]; // exponentials
shared STEP partial[2][128]; // by slice, in one of two slots in turn

void store(uint at, STEP value) {
#ifdef VEC4
    [[unroll]] for (uint i = 0u; i < 4u; ++i) o[at + i] = value[i]; // parts are not aligned
#else
    o[at] = value;
#endif
}

void main() {
    uint n = workgroup_number();
    const uint parts = PART_KEYS == 0u ? 1u : (key_rows + PART_KEYS - 1u) / PART_KEYS, part = n % parts;
    n /= parts;
    const uint head = n % heads;
    n /= heads;
    const uint t = n % queries, b = n / queries;
    if (b >= batch) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x, steps = head_dim / WIDTH;
    const uint width = min(steps, 128u), sets = 128u / width, set = lane / width, column = lane % width;
    const uint kv_head = head / (heads / kv_heads);
    const uint q_at = (query_row(b, t) * heads + head) * steps;
    const uint firsts = first_keys(b), skipped = skipped_keys(b, t), begin = keys_begin(b, t);
    const uint end = PART_KEYS == 0u ? keys_end(b, t) : min(keys_end(b, t), part * PART_KEYS + PART_KEYS);

    // Of this invocation's keys. What there is before any key counts once.
    float greatest = part == 0u ? first_greatest(head) : LEAST;
    float total = part == 0u && lane == 0u ? first_total() : 0.0;
    STEP sum[SLICES];
    [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum[s] = STEP(0.0);

    for (uint first = next_key(part * PART_KEYS, firsts, begin); first < end;
         first = key_after(first + 128u, firsts, begin)) {
        const uint key = first + lane;
        const bool kept = !is_skipped(key, firsts, skipped) && key < end && is_kept(b, t, key);
        float score = HIDDEN_SCORE;
        if (kept) {
            const uint k_at = (key_row(b, key) * kv_heads + kv_head) * steps;
            score = 0.0;
            for (uint d = 0u; d < steps; d += 8u) {
                STEP q_d[8], k_d[8];
                [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                    const uint c = min(d + i, steps - 1u);
                    q_d[i] = q_step[q_at + c] * scale;
                    k_d[i] = k_step(k_at + c);
                }
                [[unroll]] for (uint i = 0u; i < 8u; ++i) score += d + i < steps ? dot(q_d[i], k_d[i]) : 0.0;
            }
            score = score_of(score, b, head, t, key);
        }
        scores[lane / 4u][lane % 4u] = score;
        barrier();
        vec4 peaks = vec4(greatest);
        // All at once would be more than the registers of some GPUs hold.
        [[dont_unroll]] for (uint j = 0u; j < 32u; j += 8u)
            [[unroll]] for (uint i = 0u; i < 8u; ++i) peaks = max(peaks, scores[j + i]);
        const float peak = max(max(peaks.x, peaks.y), max(peaks.z, peaks.w)), shrink = exp(greatest - peak);
        const float exponential = exp(score - peak);
        greatest = peak;
        total = total * shrink + (kept ? exponential : 0.0);
        share[lane] = kept ? exponential : HIDDEN_SHARE;
        barrier();

        STEP added[SLICES];
        [[unroll]] for (uint s = 0u; s < SLICES; ++s) added[s] = STEP(0.0);
        const uint count = set < sets ? min(128u, end - first) : 0u;
        for (uint at = set; at < count; at += 8u * sets) {
            float p[8];
            uint v_at[8];
            [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                const uint k = min(at + j * sets, count - 1u);
                p[j] = at + j * sets < count ? share[k] : HIDDEN_SHARE;
                v_at[j] = (key_row(b, first + k) * kv_heads + kv_head) * steps;
            }
            [[unroll]] for (uint s = 0u; s < SLICES; ++s) {
                STEP value[8];
                [[unroll]] for (uint j = 0u; j < 8u; ++j) value[j] = v_step(v_at[j] + min(s * 128u + column, steps - 1u));
                [[unroll]] for (uint j = 0u; j < 8u; ++j) added[s] += p[j] < 0.0 ? STEP(0.0) : p[j] * value[j];
            }
        }
        [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum[s] = sum[s] * shrink + added[s];
    }

    // A part's sums are stored undivided, followed by their largest score and the sum of exponentials.
    const uint o_at = PART_KEYS == 0u ? q_at * WIDTH : (((b * queries + t) * heads + head) * parts + part) * (head_dim + 2u);
    scores[lane / 4u][lane % 4u] = total;
    [[unroll]] for (uint s = 0u; s < SLICES; ++s) {
        partial[s % 2u][lane] = sum[s];
        barrier();
        vec4 totals = vec4(0.0);
        [[dont_unroll]] for (uint j = 0u; j < 32u; j += 8u)
            [[unroll]] for (uint i = 0u; i < 8u; ++i) totals += scores[j + i];
        total = dot(totals, vec4(1.0));
        const float norm = PART_KEYS != 0u ? 1.0 : total == 0.0 ? 0.0 : 1.0 / total;
        STEP all = STEP(0.0);
        for (uint i = 0u; i < sets; ++i) all += partial[s % 2u][i * width + column];
        if (set == 0u && s * 128u + column < steps) store(o_at + (s * 128u + column) * WIDTH, all * norm);
    }
    if (PART_KEYS != 0u && lane == 0u) o[o_at + head_dim] = greatest, o[o_at + head_dim + 1u] = total;
}
