// Root mean square normalization: y = x / sqrt(mean(x^2) + eps) * (weight_offset + weight) + residual, by rows.
//
// x, residual, y (rows, C), where a row is one group of the layer's row; weight (weight_groups, C), which rows take in
// turns. Weight and residual may be left out.
// Dispatch: one workgroup per row. Its invocations loop over the columns, and a barrier joins their sums. Where there
// are enough columns, four loads are on their way at a time, because a GPU would wait for each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    uint weight_groups;
    float eps;
    float weight_offset;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
layout(constant_id = 1) const bool HAS_RESIDUAL = false;
layout(std430, set = 0, binding = 2) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

float normal(uint base, uint weight_base, uint c, float scale) {
    const float v = x[base + c] * scale * (weight_dtype == 0u ? 1.0 : weight_offset + weight(weight_base + c));
    return HAS_RESIDUAL ? v + residual[base + c] : v;
}

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;
    const uint base = row * cols, weight_base = row % weight_groups * cols;

    float square = 0.0;
    uint c = lane;
    for (; c + 192u < cols; c += 256u) {
        float v[4];
        [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = x[base + c + i * 64u];
        [[unroll]] for (uint i = 0u; i < 4u; ++i) square += v[i] * v[i];
    }
    for (; c < cols; c += 64u) square += x[base + c] * x[base + c];
    const float scale = inversesqrt(workgroup_sum(square, 0u) / float(cols) + eps);

    for (c = lane; c + 192u < cols; c += 256u) {
        float v[4];
        [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = normal(base, weight_base, c + i * 64u, scale);
        [[unroll]] for (uint i = 0u; i < 4u; ++i) y[base + c + i * 64u] = v[i];
    }
    for (; c < cols; c += 64u) y[base + c] = normal(base, weight_base, c, scale);
}
