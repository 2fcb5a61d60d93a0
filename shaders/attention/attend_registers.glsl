// Attention over projected heads: o = softmax(q Kᵀ / sqrt(D) + bias) V, for each query of each head. keys.glsl has the
// shapes. Online softmax: the greatest score so far is subtracted, and what was summed under a smaller one is rescaled.
//
// Dispatch: a workgroup of 32 takes one sequence, one key head and a slice of SLICE steps of the channels; each
// invocation one query row of one of the heads that share the key head. So K and V are read at addresses that are the
// same for all invocations, and there is neither shared memory nor a barrier. Eight keys at a time: a value of q that
// an invocation loads serves eight scores.
//
// A query that may attend to nothing gives zeros. A value behind the mask is never multiplied: 0 * NaN is NaN.

#extension GL_EXT_control_flow_attributes : require
#include "keys.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 7) const uint SLICE = 16u; // steps of channels an invocation sums; at most 16

#ifdef VEC4
#define STEP vec4
#define WIDTH 4u
layout(std430, set = 0, binding = 0) readonly buffer Q4 { vec4 q_step[]; };
layout(std430, set = 0, binding = 1) readonly buffer K4 { vec4 k_step[]; };
layout(std430, set = 0, binding = 2) readonly buffer V4 { vec4 v_step[]; };
layout(std430, set = 0, binding = 7) writeonly buffer O4 { vec4 o_step[]; };
#else
#define STEP float
#define WIDTH 1u
#define q_step q
#define k_step k
#define v_step v
#define o_step o
#endif

void main() {
    const uint steps = HEAD_DIM / WIDTH;
    const uint sharing = heads / kv_heads; // heads that share a key head
    const uint lines = sharing * queries;
    const uint blocks = (lines + 31u) / 32u, slices = (steps + SLICE - 1u) / SLICE;
    uint n = workgroup_number();
    const uint block = n % blocks;
    n /= blocks;
    const uint slice = n % slices * SLICE;
    n /= slices;
    const uint kv_head = n % kv_heads, b = n / kv_heads;
    const uint line = block * 32u + gl_LocalInvocationID.x;
    if (b >= batch || line >= lines) return;

    const uint head = kv_head * sharing + line / queries, t = line % queries;
    const uint q_at = (query_row(b, t) * heads + head) * steps;
    // The end for the last query of the workgroup, the same for all invocations; then each one's own.
    const uint last_line = min(block * 32u + 31u, lines - 1u);
    const bool wraps = last_line / queries != block * 32u / queries;
    const uint last_end = keys_end(b, wraps ? queries - 1u : last_line % queries);
    const uint end = keys_end(b, t);

    float greatest = LEAST, total = 0.0;
    STEP sum[SLICE];
    [[unroll]] for (uint i = 0u; i < SLICE; ++i) sum[i] = STEP(0.0);

    for (uint first = 0u; first < last_end; first += 8u) {
        uint at[8]; // of each key's channels in K and V; behind the end, the last key's
        float score[8];
        [[unroll]] for (uint j = 0u; j < 8u; ++j) {
            at[j] = (key_row(b, min(first + j, last_end - 1u)) * kv_heads + kv_head) * steps;
            score[j] = 0.0;
        }
        for (uint d = 0u; d < steps; ++d) {
            const STEP q_d = q_step[q_at + d] * scale;
            [[unroll]] for (uint j = 0u; j < 8u; ++j) score[j] += dot(q_d, k_step[at[j] + d]);
        }

        bool kept[8];
        float peak = greatest;
        [[unroll]] for (uint j = 0u; j < 8u; ++j) {
            kept[j] = first + j < end && is_kept(b, t, first + j);
            if (kept[j]) {
                score[j] += bias_of(b, head, t, first + j);
                peak = max(peak, score[j]);
            }
        }
        const float shrink = exp(greatest - peak);
        greatest = peak;
        total *= shrink;
        [[unroll]] for (uint i = 0u; i < SLICE; ++i) sum[i] *= shrink;
        [[unroll]] for (uint j = 0u; j < 8u; ++j) {
            if (kept[j]) {
                const float share = exp(score[j] - peak);
                total += share;
                [[unroll]] for (uint i = 0u; i < SLICE; ++i) sum[i] += share * v_step[at[j] + min(slice + i, steps - 1u)];
            }
        }
    }

    const float norm = total == 0.0 ? 0.0 : 1.0 / total;
    [[unroll]] for (uint i = 0u; i < SLICE; ++i)
        if (slice + i < steps) o_step[q_at + slice + i] = sum[i] * norm;
}
