// Chooses the experts of each token and computes what each counts.
//
// To sort, an invocation counts how many values come before its own. So barriers are few, and there are no atomics.
//
// x (rows, E), chosen (rows, k), bias (E), factors (E); experts, weights (rows, k), margin (rows).
// Dispatch: a workgroup of 64 per row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool GIVEN = false; // chosen

layout(push_constant) uniform Push {
    uint rows;
    uint experts; // E
    uint k;
    uint groups;
    uint kept_groups;
    uint two_best;
    uint sigmoid;
    uint normalize;
    float scale;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Chosen { int chosen[]; };
WEIGHT(bias, 2, 1)
layout(std430, set = 0, binding = 3) writeonly buffer Experts { int chosen_experts[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Weights { float weights[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Margin { float margin[]; };
WEIGHT(factors, 6, 2)

const uint lanes = 64u, most_experts = 1024u, most_groups = 64u, most_k = 64u;
const float most = 3.402823466e38;

shared float value[most_experts];    // what experts are chosen by
shared uint is_chosen[most_experts]; // 1 or 0
shared float group_value[most_groups];
shared uint is_used[most_groups];    // by the choice, if it is given
shared uint is_kept[most_groups];
shared uint list[most_k];            // the chosen experts
shared float score[most_k];
shared float least[lanes], other[lanes]; // the least value that is chosen, and the greatest that is not
shared uint has_other[lanes];

// Drivers differ in how they compare NaN and infinity, so these are recognized by their bits.
bool is_nan(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }
float finite(float v) {
    if (is_nan(v) || floatBitsToUint(v) == 0xff800000u) return -most;
    return floatBitsToUint(v) == 0x7f800000u ? most : v;
}
float falling_exp(float below) { return below > -87.0 ? exp(below) : 0.0; } // of at most 0
float sigmoid_of(float v) {
    const float e = falling_exp(-abs(v));
    return v < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

// Whether a value comes before another: those that are marked first, then the greater, then the first.
bool is_before(uint mark, float v, uint i, uint than_mark, float than, uint than_i) {
    if (mark != than_mark) return mark > than_mark;
    return v > than || (v == than && i < than_i);
}

// By how much a is greater than b, relative to the greater magnitude. Drivers may divide by reciprocals, which are exact
// enough only below 2^126.
float clearness(float a, float b) {
    const float magnitude = max(abs(a), abs(b)), unit = magnitude < 1.0 ? 16777216.0 : 1.0 / 16777216.0;
    return magnitude == 0.0 ? 0.0 : (a * unit) / (magnitude * unit) - (b * unit) / (magnitude * unit);
}

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x, base = row * experts;

    float maximum = -most, bad = 0.0;
    for (uint e = lane; e < experts; e += lanes) {
        const float v = x[base + e];
        if (is_nan(v) || floatBitsToUint(v) == 0x7f800000u) bad = 1.0;
        maximum = max(maximum, finite(v));
    }
    bad = workgroup_maximum(bad, 0u);
    maximum = workgroup_maximum(maximum, 1u);
    float sum = 0.0; // of softmax
    for (uint e = lane; e < experts; e += lanes) sum += falling_exp(finite(x[base + e]) - maximum);
    sum = workgroup_sum(sum, 0u);

    for (uint e = lane; e < experts; e += lanes) {
        const float v = finite(x[base + e]);
        value[e] = v;
        if (bias_dtype != 0u)
            value[e] = finite((sigmoid != 0u ? sigmoid_of(v) : falling_exp(v - maximum) / sum) + bias(e));
        is_chosen[e] = 0u;
    }
    if (GIVEN) {
        if (lane < k) list[lane] = uint(chosen[row * k + lane]);
        barrier();
        for (uint e = lane; e < experts; e += lanes)
            for (uint i = 0u; i < k; ++i)
                if (list[i] == e) is_chosen[e] = 1u;
    }
    barrier();

    // Groups, one to an invocation.
    const uint group = experts / groups;
    if (lane < groups) {
        float best = -most, second = -most;
        uint used = 0u;
        for (uint e = lane * group; e < (lane + 1u) * group; ++e) {
            const float v = value[e];
            if (v > best) second = best, best = v;
            else if (v > second) second = v;
            used |= is_chosen[e];
        }
        group_value[lane] = two_best != 0u && group > 1u ? finite(best + second) : best;
        is_used[lane] = used;
    }
    barrier();
    if (lane < groups) {
        uint rank = 0u;
        for (uint g = 0u; g < groups; ++g)
            rank += is_before(is_used[g], group_value[g], g, is_used[lane], group_value[lane], lane) ? 1u : 0u;
        is_kept[lane] = rank < kept_groups ? 1u : 0u;
    }
    barrier();

    if (!GIVEN)
        for (uint e = lane; e < experts; e += lanes) {
            const uint kept = is_kept[e / group];
            const float v = value[e];
            uint rank = 0u;
            for (uint i = 0u; i < experts; ++i) rank += is_before(is_kept[i / group], value[i], i, kept, v, e) ? 1u : 0u;
            if (rank < k) {
                list[rank] = e;
                is_chosen[e] = 1u;
            }
        }
    barrier();

    least[lane] = most;
    other[lane] = -most;
    has_other[lane] = 0u;
    for (uint e = lane; e < experts; e += lanes) {
        if (is_chosen[e] != 0u) {
            least[lane] = min(least[lane], value[e]);
        } else if (is_kept[e / group] != 0u) {
            other[lane] = max(other[lane], value[e]);
            has_other[lane] = 1u;
        }
    }
    float shift = maximum; // of softmax over the chosen ones, if they are normalized
    if (normalize != 0u) {
        shift = -most;
        for (uint i = 0u; i < k; ++i) shift = max(shift, finite(x[base + list[i]]));
    }
    if (lane < k) {
        const float v = finite(x[base + list[lane]]);
        score[lane] = sigmoid != 0u ? sigmoid_of(v) : falling_exp(v - shift);
    }
    barrier();

    if (lane < k) {
        float all = sigmoid != 0u ? 1.0 : sum;
        if (normalize != 0u) {
            all = sigmoid != 0u ? 1e-20 : 0.0;
            for (uint i = 0u; i < k; ++i) all += score[i];
        }
        chosen_experts[row * k + lane] = int(list[lane]);
        const float own = factors_dtype != 0u ? factors(list[lane]) : 1.0;
        weights[row * k + lane] = bad != 0.0 ? uintBitsToFloat(0x7fc00000u) : score[lane] / all * scale * own;
    }
    if (lane != 0u) return;
    float low = most, high = -most;
    uint others = 0u;
    for (uint i = 0u; i < lanes; ++i) {
        low = min(low, least[i]);
        high = max(high, other[i]);
        others |= has_other[i];
    }
    float clear = others != 0u ? clearness(low, high) : 2.0;
    low = most, high = -most;
    for (uint g = 0u; g < groups; ++g) {
        if (is_kept[g] != 0u) low = min(low, group_value[g]);
        else high = max(high, group_value[g]);
    }
    if (kept_groups < groups) clear = min(clear, clearness(low, high));
    margin[row] = clear;
}
