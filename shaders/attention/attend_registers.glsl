// o = softmax(scale q Kᵀ + bias) V, for each query of each head. keys.glsl has the shapes. This is online softmax: the
// largest score so far is subtracted, and sums made with a smaller one are rescaled.
//
// A line is a query of one of the heads that share a key head. Dispatch: a workgroup of 32 computes one sequence, one
// key head, a slice of SLICE steps of the channels, and 32 x LINES lines, LINES of them per invocation. All invocations
// read K and V at the same addresses, and there is neither shared memory nor a barrier. Keys are processed eight at a
// time: a step of q is loaded for eight scores, and a step of K or V for LINES lines. On drivers without caches of
// their own the loads decide, so 4 lines of 16 steps are best there. GPUs need registers for occupancy: 2 lines of 8.
//
// The values of eight keys are summed before they are added to the sums so far. Added one by one, thousands of small,
// equal values would all be rounded in the same direction. Such keys occur: the silence at the end of a recording.
//
// A query that may attend to nothing gives zeros. A masked value has no effect, even if it is NaN.

#extension GL_EXT_control_flow_attributes : require
#include "steps.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 6) const uint SLICE = 16u; // steps of channels that an invocation sums; at most 16
layout(constant_id = 7) const uint LINES = 4u;  // lines per invocation; at most 4

void main() {
    const uint steps = head_dim / WIDTH;
    const uint sharing = heads / kv_heads; // heads that share a key head
    const uint lines = sharing * queries, lines_of_group = 32u * LINES;
    const uint blocks = (lines + lines_of_group - 1u) / lines_of_group, slices = (steps + SLICE - 1u) / SLICE;
    uint n = workgroup_number();
    const uint first_line = n % blocks * lines_of_group;
    n /= blocks;
    const uint slice = n % slices * SLICE;
    n /= slices;
    const uint kv_head = n % kv_heads, b = n / kv_heads;
    const uint my_line = first_line + gl_LocalInvocationID.x * LINES;
    if (b >= batch || my_line >= lines) return;

    uint head[LINES], t[LINES], q_at[LINES], skipped[LINES], end[LINES]; // lines after the last repeat it
    float greatest[LINES], total[LINES];
    STEP sum[LINES * SLICE];
    [[unroll]] for (uint l = 0u; l < LINES; ++l) {
        const uint line = min(my_line + l, lines - 1u);
        head[l] = kv_head * sharing + line / queries;
        t[l] = line % queries;
        q_at[l] = (query_row(b, t[l]) * heads + head[l]) * steps;
        skipped[l] = skipped_keys(b, t[l]);
        end[l] = keys_end(b, t[l]);
        greatest[l] = first_greatest(head[l]);
        total[l] = first_total();
    }
    [[unroll]] for (uint i = 0u; i < LINES * SLICE; ++i) sum[i] = STEP(0.0);

    // From the first query's begin to the last query's end, so it is the same for all invocations of the workgroup.
    const uint last_line = min(first_line + lines_of_group, lines) - 1u;
    const bool wraps = last_line / queries != first_line / queries;
    const uint first_t = wraps ? 0u : first_line % queries, firsts = first_keys(b), first_begin = keys_begin(b, first_t);
    const uint last_end = all_keys_end(b, first_t, wraps ? queries - 1u : last_line % queries);

    for (uint first = next_key(0u, firsts, first_begin); first < last_end;
         first = key_after(first + 8u, firsts, first_begin)) {
        uint at[8]; // of each key's channels in K and V; after the end, the last key's
        float score[LINES * 8u];
        [[unroll]] for (uint j = 0u; j < 8u; ++j)
            at[j] = (key_row(b, min(first + j, last_end - 1u)) * kv_heads + kv_head) * steps;
        [[unroll]] for (uint i = 0u; i < LINES * 8u; ++i) score[i] = 0.0;
        for (uint d = 0u; d < steps; ++d) {
            STEP q_d[LINES];
            [[unroll]] for (uint l = 0u; l < LINES; ++l) q_d[l] = q_step[q_at[l] + d] * scale;
            [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                const STEP k_d = k_step(at[j] + d);
                [[unroll]] for (uint l = 0u; l < LINES; ++l) score[l * 8u + j] += dot(q_d[l], k_d);
            }
        }

        bool kept[LINES * 8u];
        float shrink[LINES];
        [[unroll]] for (uint l = 0u; l < LINES; ++l) {
            float peak = greatest[l];
            [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                const uint i = l * 8u + j;
                kept[i] = !is_skipped(first + j, firsts, skipped[l]) && first + j < end[l] && is_kept(b, t[l], first + j);
                if (kept[i]) {
                    score[i] = score_of(score[i], b, head[l], t[l], first + j);
                    peak = max(peak, score[i]);
                }
            }
            shrink[l] = exp(greatest[l] - peak);
            greatest[l] = peak;
            float added = 0.0;
            [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                score[l * 8u + j] = kept[l * 8u + j] ? exp(score[l * 8u + j] - peak) : 0.0;
                added += score[l * 8u + j];
            }
            total[l] = total[l] * shrink[l] + added;
        }
        [[unroll]] for (uint i = 0u; i < SLICE; ++i) {
            STEP added[LINES];
            [[unroll]] for (uint l = 0u; l < LINES; ++l) added[l] = STEP(0.0);
            [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                const STEP v_i = v_step(at[j] + min(slice + i, steps - 1u));
                [[unroll]] for (uint l = 0u; l < LINES; ++l)
                    added[l] += kept[l * 8u + j] ? score[l * 8u + j] * v_i : STEP(0.0);
            }
            [[unroll]] for (uint l = 0u; l < LINES; ++l)
                sum[l * SLICE + i] = sum[l * SLICE + i] * shrink[l] + added[l];
        }
    }

    [[unroll]] for (uint l = 0u; l < LINES; ++l) {
        const float norm = total[l] == 0.0 ? 0.0 : 1.0 / total[l];
        [[unroll]] for (uint i = 0u; i < SLICE; ++i)
            if (my_line + l < lines && slice + i < steps) o_step[q_at[l] + slice + i] = sum[l * SLICE + i] * norm;
    }
}
