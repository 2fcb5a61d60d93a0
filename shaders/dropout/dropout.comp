// Dropout at inference: y = x + residual. Without a residual x is copied as bits, so that no value can change.
//
// x, residual, y: any shape, n elements in all.
// Dispatch: one invocation per element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 0) const bool HAS_RESIDUAL = false;

layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i < n) y[i] = HAS_RESIDUAL ? floatBitsToUint(uintBitsToFloat(x[i]) + residual[i]) : x[i];
}
