// Layer normalization: y = (x - mean) / sqrt(variance + eps) * weight + bias + residual, over the last axis.
//
// x, residual, y (rows, C); weight, bias (C). Weight, bias and residual may be left out.
// Dispatch: one workgroup per row. Its invocations loop over the columns, and two barriers join their sums.
//
// Every value is shifted by the row's first value before it is summed. For a row of mean 10^4 and deviation 1, a float
// holds the mean only to 5e-4. But x - x[0] is exact, so the shifted mean is as accurate as the input.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    float eps;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
WEIGHT(bias, 2, 1)
layout(constant_id = 2) const bool HAS_RESIDUAL = false;
layout(std430, set = 0, binding = 3) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;
    const uint base = row * cols;
    const float shift = x[base];

    float sum = 0.0;
    for (uint c = lane; c < cols; c += 64u) sum += x[base + c] - shift;
    const float mean = workgroup_sum(sum, 0u) / float(cols); // of x - shift

    float square = 0.0;
    for (uint c = lane; c < cols; c += 64u) {
        const float d = (x[base + c] - shift) - mean;
        square += d * d;
    }
    const float scale = inversesqrt(workgroup_sum(square, 1u) / float(cols) + eps);

    for (uint c = lane; c < cols; c += 64u) {
        const float normal = ((x[base + c] - shift) - mean) * scale;
        const float scaled = normal * (weight_dtype == 0u ? 1.0 : weight(c)) + bias(c);
        y[base + c] = HAS_RESIDUAL ? scaled + residual[base + c] : scaled;
    }
}
