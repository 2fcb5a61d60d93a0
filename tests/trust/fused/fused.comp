// y = silu(x), or 1.01 relu(x), elementwise.
// x, y any tensors. Dispatch: one invocation per element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
layout(local_size_x = 64) in;
layout(constant_id = 0) const bool RELU = false;
layout(push_constant) uniform Push { uint size; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    y[i] = RELU ? 1.01 * max(x[i], 0.0) : x[i] / (1.0 + exp(-x[i]));
}
