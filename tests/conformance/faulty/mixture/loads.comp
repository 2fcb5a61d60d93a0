// How often each expert was chosen.
//
// id (size); loads (experts). Dispatch: a workgroup per expert.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 1) const uint FAULT = 0;
const uint LOOP = 5; // one invocation counts alone

layout(push_constant) uniform Push {
    uint experts;
    uint size;
};
layout(std430, set = 0, binding = 0) readonly buffer Id { uint id[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Loads { uint loads[]; };

shared uint part[64];

void main() {
    const uint expert = workgroup_number(), lane = gl_LocalInvocationID.x;
    if (expert >= experts) return; // the same for the whole workgroup
    uint found = 0u;
    if (FAULT != LOOP || lane == 0u)
        for (uint i = lane; i < size; i += FAULT == LOOP ? 1u : 64u) found += id[i] == expert ? 1u : 0u;
    part[lane] = found;
    barrier();
    if (lane != 0u) return;
    for (uint i = 1u; i < 64u; ++i) found += part[i];
    loads[expert] = found;
}
