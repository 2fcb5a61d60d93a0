// Joins what instance_norm_join found of the channels of a group: the mean of all their values, for each channel without
// its own first step, and 1 / sqrt(variance + eps). As there, the squares around the mean of all are those around the
// mean of the channel, plus the squared distance of the means.
//
// x (B, steps, cols), whose first steps are read; of_channels (2, B, cols): mean without the first step, and variance;
// of_all (2, B, cols).
// Dispatch: a workgroup of 64 for each sequence and group.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint batch;
    uint steps;
    uint cols;
    uint group;
    float eps;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer OfChannels { float of_channels[]; };
layout(std430, set = 0, binding = 2) writeonly buffer OfAll { float of_all[]; };

void main() {
    const uint groups = cols / group, b = workgroup_number() / groups;
    if (b >= batch) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x, begin = workgroup_number() % groups * group;
    const uint first = b * steps * cols, from = b * cols, variances = (batch + b) * cols;
    const float origin = x[first + begin]; // of all channels of the group

    float sum = 0.0;
    for (uint c = begin + lane; c < begin + group; c += 64u) sum += x[first + c] - origin + of_channels[from + c];
    const float mean = workgroup_sum(sum, 0u) / float(group);
    float square = 0.0;
    for (uint c = begin + lane; c < begin + group; c += 64u) {
        const float distance = x[first + c] - origin + of_channels[from + c] - mean;
        square += of_channels[variances + c] + distance * distance;
    }
    const float scale = inversesqrt(workgroup_sum(square, 1u) / float(group) + eps);
    for (uint c = begin + lane; c < begin + group; c += 64u) {
        of_all[from + c] = mean - (x[first + c] - origin);
        of_all[variances + c] = scale;
    }
}
