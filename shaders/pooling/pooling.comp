// Pooling: a mean, the first, the last or the maximum of the rows from `start` to `length` of each sequence.
//
// x (B, T) or (T, B) rows of C, according to the strides (in rows); lengths and starts (B), may be left out; y (B, C).
// Dispatch: a workgroup of 256, as 32 x 8, computes one sequence and 32 channels. Each invocation reads every eighth
// row of its channel, and the first row of invocations joins the eight results, always in the same order.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 256) in;

const uint MEAN = 0u, FIRST = 1u, LAST = 2u, MAXIMUM = 3u, MEAN_SQRT_LEN = 4u, WEIGHTED_MEAN = 5u;
layout(constant_id = 0) const uint KIND = MEAN;
layout(constant_id = 1) const bool HAS_LENGTHS = false;
layout(constant_id = 2) const bool HAS_STARTS = false;

layout(push_constant) uniform Push {
    uint batch;
    uint rows; // of a sequence: T
    uint cols;
    uint batch_stride;
    uint time_stride;
    uint skip; // where rows begin to count, at least
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 2) readonly buffer Starts { int starts[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

shared float part[8][32];

float join(float a, float b) { return KIND == MAXIMUM ? max(a, b) : a + b; }

// What the sum over the rows from `begin` to `end` is divided by.
float divisor(uint begin, uint end) {
    const float count = float(end - begin);
    switch (KIND) {
    case MEAN: return count;
    case MEAN_SQRT_LEN: return sqrt(count);
    case WEIGHTED_MEAN: return count * 0.5 * (float(begin) + float(end) + 1.0);
    default: return 1.0;
    }
}

void main() {
    const uint slices = (cols + 31u) / 32u, n = workgroup_number();
    const uint b = n / slices;
    if (b >= batch) return; // the same for the whole workgroup
    const uint low = gl_LocalInvocationID.x % 32u, high = gl_LocalInvocationID.x / 32u;
    const uint c = n % slices * 32u + low;

    // The range of rows. First and last are sums over a single row.
    const uint rows_end = HAS_LENGTHS ? uint(lengths[b]) : rows;
    const uint rows_begin = min(HAS_STARTS ? max(uint(starts[b]), skip) : skip, rows_end);
    const uint begin = KIND == LAST && rows_begin != rows_end ? rows_end - 1u : rows_begin;
    const uint end = KIND == FIRST ? min(rows_begin + 1u, rows_end) : rows_end;

    const uint at = min(c, cols - 1u); // a channel beyond the last repeats it, and is not written
    const uint from = b * batch_stride;
    float joined = 0.0;
    if (KIND == MAXIMUM && begin != end) joined = x[(from + begin * time_stride) * cols + at]; // a row within the range
    for (uint t = begin + high; t < end; t += 8u) {
        const float value = x[(from + t * time_stride) * cols + at];
        joined = join(joined, KIND == WEIGHTED_MEAN ? float(t + 1u) * value : value);
    }
    part[high][low] = joined;
    barrier();
    if (high != 0u || c >= cols) return;
    for (uint i = 1u; i < 8u; ++i) joined = join(joined, part[i][low]);
    y[b * cols + c] = begin != end ? joined / divisor(begin, end) : joined;
}
