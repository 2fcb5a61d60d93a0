// The logarithm of the power in each mel filter: log10(max(sum over bins of power * weight, 1e-10)).
//
// power (rows, bins); filter_weight (mels, bins); extent (mels): the bins [x, y) in which a filter is not 0;
// logs (rows, mels). Dispatch: one invocation per value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint bins;
    uint mels;
};
layout(std430, set = 0, binding = 0) readonly buffer Power { float power[]; };
layout(std430, set = 0, binding = 1) readonly buffer Filters { float filter_weight[]; };
layout(std430, set = 0, binding = 2) readonly buffer Extents { uvec2 extent[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Logs { float logs[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= rows * mels) return;
    const uint row = i / mels, mel = i % mels;
    float sum = 0.0;
    for (uint bin = extent[mel].x; bin < extent[mel].y; ++bin)
        sum += power[row * bins + bin] * filter_weight[mel * bins + bin];
    logs[i] = log2(max(sum, 1e-10)) * 0.30102999566398120; // log10(2)
}
