// Softmax: y = exp(x - m) / sum(exp(x - m)) with m = max(x), over the last axis.
//
// x, y (rows, C).
// Dispatch: one workgroup per row. Its invocations loop over the columns, and two barriers join their results.
//
// A row that is all -infinity (everything masked) becomes zeros; one with NaN or +infinity becomes NaN throughout.
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
    for (uint c = gl_LocalInvocationID.x; c < cols; c += 64u)
        y[base + c] = sum == 0.0 ? 0.0 : shifted_exp(x[base + c] - maximum) / sum;
}
