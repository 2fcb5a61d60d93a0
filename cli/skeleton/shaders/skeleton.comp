// skeleton: y = factor * x * weight, over the last axis.
//
// x, y (rows, C); weight (C), may be left out.
// Dispatch: one invocation per element, 64 per workgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint size;
    uint cols;
    float factor;
};
// The host derives barriers from readonly and writeonly.
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0) // binding 1, specialization constant 0: weight(i), whatever its dtype
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return; // the last workgroup is not full
    y[i] = factor * x[i] * (weight_dtype == 0u ? 1.0 : weight(i % cols));
}
