// Each row from one of two tensors, or where the mask says so their sum. Values that are taken are copied as bits, so
// that none can change.
//
// x, other and y (rows, columns), `size` elements in all; mask (rows).
// Dispatch: one invocation per element of y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 0) const bool ADDED = false;

layout(push_constant) uniform Push {
    uint size;
    uint columns;
};
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Other { uint other[]; };
layout(std430, set = 0, binding = 2) readonly buffer Mask { int mask[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { uint y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const bool masked = mask[i / columns] != 0;
    if (masked && ADDED)
        y[i] = floatBitsToUint(uintBitsToFloat(x[i]) + uintBitsToFloat(other[i]));
    else
        y[i] = masked ? other[i] : x[i];
}
