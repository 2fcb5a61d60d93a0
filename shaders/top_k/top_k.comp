// The second step of top_k: the k best scores of a row, in order, and the sum over all of exp(score - the best).
//
// No more than k sets have one of the k best: the best of any other set has the best of k sets before it. So the list
// begins with the best of all sets, of which the k best are kept. Their sets are then searched for scores that are
// better than the worst of the list, a few at a time, and again the k best are kept.
//
// x (rows, V), bias (V), best and sums (rows, sets); values, indices (rows, k), sum (rows).
// Dispatch: one workgroup of 128 per row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/workgroup.glsl"

const uint lanes = 128u;
const uint at_a_time = 4u; // scores that an invocation looks at, all on their way together
const uint most_k = 128u;
const uint capacity = most_k + lanes * at_a_time; // more than there are sets

layout(local_size_x = 128) in;

#include "scores.glsl"
layout(std430, set = 0, binding = 2) readonly buffer Best { uint best[]; };
layout(std430, set = 0, binding = 3) readonly buffer Sums { float sums[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Values { float values[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Indices { int indices[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Sum { float sum[]; };

shared float list_value[capacity];
shared uint list_index[capacity];
shared uint best_of[most_k]; // of the sets that are searched
shared uvec4 found[2][lanes / 4u]; // by invocation: scores that it adds, in one of two slots in turn
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

    // The best sets' scores, one of each, then another of each, and so on.
    const uint candidates = (size + sets - 1u) / sets * k;
    uint slot = 0u;
    for (uint begin = 0u; begin < candidates; begin += lanes * at_a_time) {
        const float worst = list_value[k - 1u];
        const uint worst_index = list_index[k - 1u];
        float value[at_a_time];
        uint index[at_a_time];
        bool adds[at_a_time];
        [[unroll]] for (uint e = 0u; e < at_a_time; ++e) {
            const uint n = begin + e * lanes + lane, own = best_of[n % k];
            index[e] = n / k * sets + own % sets;
            adds[e] = n < candidates && index[e] < size && index[e] != own;
            value[e] = ordered_score(row, adds[e] ? index[e] : own);
        }
        uint n = 0u;
        [[unroll]] for (uint e = 0u; e < at_a_time; ++e) {
            adds[e] = adds[e] && is_better(value[e], index[e], worst, worst_index);
            n += adds[e] ? 1u : 0u;
        }
        found[slot][lane / 4u][lane % 4u] = n;
        barrier();
        uvec4 all_of = uvec4(0u);
        for (uint i = 0u; i < lanes / 4u; ++i) all_of += found[slot][i];
        const uint all = all_of.x + all_of.y + all_of.z + all_of.w;
        if (all != 0u) { // the same for the whole workgroup
            uint at = k;
            for (uint i = 0u; i < lane; ++i) at += found[slot][i / 4u][i % 4u];
            [[unroll]] for (uint e = 0u; e < at_a_time; ++e) {
                if (!adds[e]) continue;
                list_value[at] = value[e];
                list_index[at] = index[e];
                ++at;
            }
            keep_best(k + all);
        }
        slot = 1u - slot;
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
