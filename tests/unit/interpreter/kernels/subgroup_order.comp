// The subgroups of a workgroup each turn their own part of shared memory around, and wait only for themselves.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint SHIFT = 0u; // of what is read: another subgroup's
layout(std430, set = 0, binding = 0) writeonly buffer Y { uint y[]; };
shared uint part[64];

void main() {
    const uint i = gl_LocalInvocationIndex, begin = gl_SubgroupID * gl_SubgroupSize;
    part[i] = i;
    subgroupBarrier();
    y[i] = part[(begin + gl_SubgroupSize - 1u - gl_SubgroupInvocationID + SHIFT) % 64u];
}
