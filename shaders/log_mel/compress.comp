// Whisper's compression of the logarithms: y = (max(x, peak - 8) + 4) / 4.
//
// x, y (batch, size); peak (batch), the greatest value of each sequence.
// Dispatch: one invocation per value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint batch;
    uint size;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Peak { float peak[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i < batch * size) y[i] = (max(x[i], peak[i / size] - 8.0) + 4.0) / 4.0;
}
