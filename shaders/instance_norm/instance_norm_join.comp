// Joins what instance_norm_parts found of the chunks of each sequence: the mean of all, still without the first step,
// and 1 / sqrt(variance + eps), or with IN_GROUPS the variance. The squares of a chunk, around the mean of all, are
// those around its own mean, plus their number times the squared distance of the means.
//
// parts (2, B, chunks, cols); lengths (B), may be left out; of_all (2, B, cols).
// Dispatch: a workgroup of 256 for each sequence and 32 channels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "instance_norm/chunks.glsl"

layout(constant_id = 1) const bool IN_GROUPS = false;

layout(std430, set = 0, binding = 0) readonly buffer Parts { float parts[]; };
layout(std430, set = 0, binding = 1) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 2) writeonly buffer OfAll { float of_all[]; };

void main() {
    const uint slices = (cols + 31u) / 32u, chunks = (steps + CHUNK - 1u) / CHUNK, n = workgroup_number();
    const uint b = n / slices;
    if (b >= batch) return; // the same for the whole workgroup
    const uint low = gl_LocalInvocationID.x % 32u, high = gl_LocalInvocationID.x / 32u;
    const uint c = n % slices * 32u + low, at = min(c, cols - 1u); // one beyond the last repeats it
    const uint length = HAS_LENGTHS ? min(uint(lengths[b]), steps) : steps, count = (length + CHUNK - 1u) / CHUNK;
    const uint from = b * chunks * cols + at, squares = batch * chunks * cols;
    const float all = float(max(length, 1u));

    float sum = 0.0;
    for (uint i = high; i < count; i += 8u) sum += float(min(CHUNK, length - i * CHUNK)) * parts[from + i * cols];
    const float mean = sum_of_eight(low, high, sum) / all;
    float square = 0.0;
    for (uint i = high; i < count; i += 8u) {
        const float distance = parts[from + i * cols] - mean;
        square += parts[squares + from + i * cols] + float(min(CHUNK, length - i * CHUNK)) * distance * distance;
    }
    const float variance = sum_of_eight(low, high, square) / all;
    if (high != 0u || c >= cols) return;
    of_all[b * cols + c] = mean;
    of_all[(batch + b) * cols + c] = IN_GROUPS ? variance : inversesqrt(variance + eps);
}
