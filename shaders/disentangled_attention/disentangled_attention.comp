// y = softmax(scale (q Kᵀ + q pos_keyᵀ + K pos_queryᵀ)) V, for each query of each head. operands.glsl has the shapes.
// This is online softmax: the largest score so far is subtracted, and sums made with a smaller one are rescaled.
//
// Dispatch: a workgroup of 64 computes up to 64 queries of a head, and 32 channels of their results. Keys are processed
// eight at a time: the values of eight are summed before they are added to the sums so far, since thousands of small,
// equal values, added one by one, would all be rounded in the same direction.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "operands.glsl"

layout(local_size_x = 64) in;

void main() {
    const uint blocks = (length + 63u) / 64u, slices = (head_dim + 31u) / 32u;
    uint n = workgroup_number();
    const uint t = n % blocks * 64u + gl_LocalInvocationID.x;
    n /= blocks;
    const uint slice = n % slices * 32u;
    n /= slices;
    const uint head = n % heads, b = n / heads;
    if (b >= batch || t >= length) return;

    const uint q_at = head_at(b, t, head), keys = keys_of(b);
    float greatest = LEAST, total = 0.0;
    float sum[32];
    [[unroll]] for (uint i = 0u; i < 32u; ++i) sum[i] = 0.0;
    for (uint first = 0u; first < keys; first += 8u) {
        uint at[8], distance[8];
        float score[8];
        [[unroll]] for (uint j = 0u; j < 8u; ++j) { // after the last key, it is repeated
            const uint key = min(first + j, keys - 1u);
            at[j] = head_at(b, key, head);
            distance[j] = distance_at(int(t) - int(key), head);
            score[j] = 0.0;
        }
        for (uint d = 0u; d < head_dim; ++d) {
            const float q_d = q[q_at + d];
            for (uint j = 0u; j < 8u; ++j) { // unrolled, it has all dtypes of weights 16 times
                const float k_d = k[at[j] + d];
                score[j] += q_d * k_d;
                if (BY_KEY) score[j] += q_d * pos_key(distance[j] + d);
                if (BY_QUERY) score[j] += k_d * pos_query(distance[j] + d);
            }
        }
        float peak = greatest, added = 0.0;
        [[unroll]] for (uint j = 0u; j < 8u; ++j) {
            score[j] *= scale;
            peak = max(peak, score[j]);
        }
        [[unroll]] for (uint j = 0u; j < 8u; ++j) {
            score[j] = first + j < keys ? exp(score[j] - peak) : 0.0;
            added += score[j];
        }
        const float shrink = exp(greatest - peak);
        greatest = peak;
        total = total * shrink + added;
        float part[32];
        [[unroll]] for (uint i = 0u; i < 32u; ++i) part[i] = 0.0;
        for (uint j = 0u; j < min(8u, keys - first); ++j)
            [[unroll]] for (uint i = 0u; i < 32u; ++i) part[i] += score[j] * v[at[j] + min(slice + i, head_dim - 1u)];
        [[unroll]] for (uint i = 0u; i < 32u; ++i) sum[i] = sum[i] * shrink + part[i];
    }
    const float norm = total == 0.0 ? 0.0 : 1.0 / total;
    [[unroll]] for (uint i = 0u; i < 32u; ++i)
        if (slice + i < head_dim) y[q_at + slice + i] = sum[i] * norm;
}
