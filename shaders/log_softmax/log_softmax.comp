// Log softmax: y = x - m - log(sum(exp(x - m))) with m = max(x), over the last axis.
//
// x, y (rows, C).
// Dispatch: one workgroup per row. Its invocations loop over the columns, and two barriers join their results.
//
// A row that is all -infinity stays so; one that contains NaN or +infinity becomes NaN throughout. Both match softmax.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

#include "common/softmax_row.glsl"

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint base = row * cols;
    const float maximum = row_maximum(base, cols);
    const float sum = row_sum(base, cols, maximum);
    const float log_sum = sum > 0.0 ? log(sum) : sum; // 0: the whole row is -infinity and stays so; NaN stays NaN
    for (uint c = gl_LocalInvocationID.x; c < cols; c += 64u) y[base + c] = (x[base + c] - maximum) - log_sum;
}
