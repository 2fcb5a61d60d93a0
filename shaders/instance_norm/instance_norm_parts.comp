// Of 256 steps of a sequence, for each channel: the mean of x - x[first step of the sequence], and the sum of the
// squared differences from that mean. Subtracting the first step keeps the digits of values that are close together.
//
// x (B, steps, cols); lengths (B), may be left out; parts (2, B, chunks, cols): means, then sums.
// Dispatch: a workgroup of 256 for each sequence, chunk and 32 channels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "instance_norm/chunks.glsl"

layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Parts { float parts[]; };

void main() {
    const uint slices = (cols + 31u) / 32u, chunks = (steps + CHUNK - 1u) / CHUNK, n = workgroup_number();
    const uint b = n / (slices * chunks);
    if (b >= batch) return; // the same for the whole workgroup
    const uint low = gl_LocalInvocationID.x % 32u, high = gl_LocalInvocationID.x / 32u;
    const uint c = n % slices * 32u + low, at = min(c, cols - 1u); // one beyond the last repeats it
    const uint number = n / slices % chunks, begin = number * CHUNK;
    const uint end = min(begin + CHUNK, HAS_LENGTHS ? uint(lengths[b]) : steps);
    const uint from = b * steps * cols + at;
    const float origin = x[from];

    float sum = 0.0;
    for (uint i = high; i < CHUNK; i += 8u)
        if (begin + i < end) sum += x[from + (begin + i) * cols] - origin;
    const float mean = sum_of_eight(low, high, sum) / float(end > begin ? end - begin : 1u);
    float square = 0.0;
    for (uint i = high; i < CHUNK; i += 8u) {
        const float difference = begin + i < end ? x[from + (begin + i) * cols] - origin - mean : 0.0;
        square += difference * difference;
    }
    const float squares = sum_of_eight(low, high, square);
    if (high != 0u || c >= cols) return;
    const uint to = (b * chunks + number) * cols + c;
    parts[to] = mean;
    parts[batch * chunks * cols + to] = squares;
}
