// The first step of top_k: a row is split into sets; the best score of each, and the sum of its exponentials.
//
// Set s of a row has the scores s, s + sets, s + 2 * sets, ... So neighbouring invocations read neighbouring scores,
// and scores that are good together, as those of frequent tokens, are in different sets.
//
// x (rows, V), bias (V); best, sums (rows, sets): the index of the best score v, and sum of exp(x - v).
// Dispatch: one invocation per set, in workgroups of 64 that belong to one row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

#include "scores.glsl"
layout(std430, set = 0, binding = 2) writeonly buffer Best { uint best[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Sums { float sums[]; };

void main() {
    const uint groups = (sets + 63u) / 64u;
    const uint row = workgroup_number() / groups;
    const uint s = workgroup_number() % groups * 64u + gl_LocalInvocationID.x;
    if (row >= rows || s >= sets) return;
    float greatest = lowest();
    uint place = s;
    float sum = 0.0; // of exp(score - greatest) so far
    bool all_numbers = true;
    for (uint first = s; first < size; first += 8u * sets) {
        float v[8]; // on their way together: with one, a GPU would wait for each
        [[unroll]] for (uint j = 0u; j < 8u; ++j) v[j] = score(row, first + j * sets < size ? first + j * sets : s);
        [[unroll]] for (uint j = 0u; j < 8u; ++j) {
            if (first + j * sets >= size) break;
            all_numbers = all_numbers && is_number(v[j]);
            if (is_nan(v[j])) continue;
            if (v[j] > greatest) {
                sum = sum * exponential(greatest, v[j]) + 1.0;
                greatest = v[j];
                place = first + j * sets;
            } else {
                sum += exponential(v[j], greatest);
            }
        }
    }
    best[row * sets + s] = place;
    sums[row * sets + s] = all_numbers ? sum : uintBitsToFloat(0x7fc00000u); // NaN
}
