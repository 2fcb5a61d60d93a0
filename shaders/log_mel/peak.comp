// The greatest value of each sequence.
//
// x (batch, size); peak (batch).
// Dispatch: one workgroup of 256 per sequence. Its invocations loop over the values.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Push {
    uint batch;
    uint size;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Peak { float peak[]; };

shared float part[256];

void main() {
    const uint b = workgroup_number();
    if (b >= batch) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;
    float greatest = x[b * size];
    for (uint i = lane; i < size; i += 256u) greatest = max(greatest, x[b * size + i]);
    part[lane] = greatest;
    barrier();
    if (lane != 0u) return;
    for (uint i = 1u; i < 256u; ++i) greatest = max(greatest, part[i]);
    peak[b] = greatest;
}
