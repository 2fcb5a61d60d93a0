// How many first tokens of each sequence come before one with the id `until`, and which these are.
//
// ids, mask (sequences, steps); lengths, count (sequences), lengths may be left out.
// Dispatch: a workgroup of 64 per sequence.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool HAS_LENGTHS = false;

layout(push_constant) uniform Push {
    uint sequences;
    uint steps;
    int until;
    uint most;
};
layout(std430, set = 0, binding = 0) readonly buffer Ids { int ids[]; };
layout(std430, set = 0, binding = 1) readonly buffer Lengths { uint lengths[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Count { uint count[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Mask { uint mask[]; };

shared uint found[64]; // by invocation, before which of its tokens the first ones end

void main() {
    const uint sequence = workgroup_number();
    if (sequence >= sequences) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x, first = sequence * steps;
    const uint length = min(HAS_LENGTHS ? lengths[sequence] : steps, most);
    uint end = length;
    for (uint t = lane; t < end; t += 64u)
        if (ids[first + t] == until) end = t;
    found[lane] = end;
    barrier();
    for (uint i = 0u; i < 64u; ++i) end = min(end, found[i]);
    if (lane == 0u) count[sequence] = end;
    for (uint t = lane; t < steps; t += 64u) mask[first + t] = t < end ? 1u : 0u;
}
