// y = min(x, the row after x) * the sum of the weight's rows, with one of the faults that kernels have in the field.
//
// x, y (B, T, C); weight (3, C). After the last row of all there is none.
// Dispatch: one invocation per value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 1) const uint FAULT = 0;
const uint ROWS = 3; // of the weight
const uint LARGE = 1, BATCH = 2, FOLDED = 3, WEIGHT_BEYOND = 4, X_BEYOND = 5, LENGTH = 6;

layout(push_constant) uniform Push {
    uint size;
    uint length;
    uint cols;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

bool is_wrong(uint i) {
    return FAULT == LARGE && i >= 100000u || FAULT == BATCH && i / (cols * length) >= 4u ||
           FAULT == LENGTH && length > 512u && length % 64u != 0u;
}

void main() {
    const uint group = FAULT == FOLDED ? gl_WorkGroupID.x : workgroup_number();
    const uint i = group * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    float factor = 0.0;
    for (uint k = 0; k < ROWS + (FAULT == WEIGHT_BEYOND ? 1u : 0u); ++k) factor += weight(k * cols + i % cols);
    float value = x[i];
    if (FAULT == X_BEYOND || i + cols < size) value = min(value, x[i + cols]);
    y[i] = value * factor * (is_wrong(i) ? 1.02 : 1.0);
}
