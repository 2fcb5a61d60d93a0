// The second step of top_k: the k best scores of a row, in order, and the sum over all of exp(score - the best).
//
// No more than k sets have one of the k best: the best of any other set has the best of k sets before it. So the list
// begins with the best of all sets, of which the k best are kept. Their sets are then searched for scores that are
// better than the worst of the list, a few of each set at a time, and again the k best are kept.
//
// x (rows, V), bias (V), best and sums (rows, sets); values, indices (rows, k), sum (rows).
// Dispatch: one workgroup of 64 per row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/workgroup.glsl"

const uint lanes = 64u;
const uint at_a_time = 8u; // scores that an invocation looks at
const uint most_k = 128u;
const uint capacity = most_k + lanes * at_a_time; // more than there are sets

layout(local_size_x = 64) in;

#include "scores.glsl"
layout(std430, set = 0, binding = 2) readonly buffer Best { uint best[]; };
layout(std430, set = 0, binding = 3) readonly buffer Sums { float sums[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Values { float values[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Indices { int indices[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Sum { float sum[]; };

shared float list_value[capacity];
shared uint list_index[capacity];
shared uint best_of[most_k]; // of the sets that are searched
shared uint found[2][lanes]; // by invocation: scores that it adds, in one of two slots in turn
shared float part[lanes];

// NaN counts as the lowest score; it reaches the result through the sum.
float ordered_score(uint row, uint i) {
    const float v = score(row, i);
    return is_nan(v) ? lowest() : v;
}

// Sorts the first `count` scores of the list; only the k best are valid then. Its loops are unrolled, so that GPUs keep
// the arrays in registers.
void keep_best(uint count) {
    const uint lane = gl_LocalInvocationID.x;
    const uint most_each = capacity / lanes;
    float value[most_each];
    uint index[most_each];
    uint rank[most_each];
    const uint each = (count + lanes - 1u) / lanes;
    barrier();
    [[unroll]] for (uint e = 0u; e < most_each; ++e) {
        if (e >= each) break;
        const uint mine = min(lane + e * lanes, count - 1u);
        value[e] = list_value[mine];
        index[e] = list_index[mine];
        rank[e] = 0u;
    }
    for (uint i = 0u; i < count; ++i) {
        const float v = list_value[i];
        const uint place = list_index[i];
        [[unroll]] for (uint e = 0u; e < most_each; ++e) {
            if (e >= each) break;
            rank[e] += is_better(v, place, value[e], index[e]) ? 1u : 0u;
        }
    }
    barrier();
    [[unroll]] for (uint e = 0u; e < most_each; ++e) {
        if (e >= each) break;
        if (rank[e] >= k || lane + e * lanes >= count) continue;
        list_value[rank[e]] = value[e];
        list_index[rank[e]] = index[e];
    }
    barrier();
}

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;

    for (uint s = lane; s < sets; s += lanes) {
        list_index[s] = best[row * sets + s];
        list_value[s] = ordered_score(row, list_index[s]);
    }
    keep_best(sets); // there are k or more

    const float greatest = list_value[0];
    float mine = 0.0;
    for (uint s = lane; s < sets; s += lanes) {
        const float of_set = sums[row * sets + s];
        mine += is_nan(of_set) ? of_set : of_set * exponential(score(row, best[row * sets + s]), greatest);
    }
    part[lane] = mine;
    for (uint i = lane; i < k; i += lanes) best_of[i] = list_index[i];
    barrier();

    uint slot = 0u;
    for (uint first = 0u; first < k; first += lanes) {
        const bool searches = first + lane < k;
        const uint own = best_of[min(first + lane, k - 1u)];
        for (uint begin = 0u; begin < size; begin += sets * at_a_time) {
            const float worst = list_value[k - 1u];
            const uint worst_index = list_index[k - 1u];
            float value[at_a_time];
            uint index[at_a_time];
            uint n = 0u;
            for (uint e = 0u; e < at_a_time; ++e) {
                const uint i = begin + e * sets + own % sets;
                if (!searches || i >= size || i == own) continue;
                const float v = ordered_score(row, i);
                if (!is_better(v, i, worst, worst_index)) continue;
                value[n] = v;
                index[n] = i;
                ++n;
            }
            found[slot][lane] = n;
            barrier();
            uint before = 0u, all = 0u;
            for (uint i = 0u; i < lanes; ++i) {
                before += i < lane ? found[slot][i] : 0u;
                all += found[slot][i];
            }
            slot = 1u - slot;
            if (all == 0u) continue; // the same for the whole workgroup
            for (uint e = 0u; e < n; ++e) {
                list_value[k + before + e] = value[e];
                list_index[k + before + e] = index[e];
            }
            keep_best(k + all);
        }
    }

    for (uint i = lane; i < k; i += lanes) {
        values[row * k + i] = list_value[i];
        indices[row * k + i] = int(list_index[i]);
    }
    if (lane != 0u) return;
    float total = 0.0;
    for (uint i = 0u; i < lanes; ++i) total += part[i];
    sum[row] = total;
}
