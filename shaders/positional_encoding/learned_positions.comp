// Learned positions: y = x + table[position].
//
// x, y (B, T, C) or (T, B, C); offset (B); table (max_len, C), of which rows [first, first + count) are bound.
// Dispatch: one workgroup per row. Its invocations loop over the columns. A table that exceeds the device's binding
// limit is split into windows of rows, with one dispatch each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    uint batch, length;
    uint batch_stride, time_stride; // in rows
    uint first, count;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Offset { uint offset[]; };
WEIGHT_OR_BLOCKS(table, 2, 1)
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

#include "common/sequence_row.glsl"

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return;
    const uint entry = position_of(row) - first; // wraps for a position before the window: not below count
    if (entry >= count) return;
    for (uint c = gl_LocalInvocationID.x; c < cols; c += 64u)
        y[row * cols + c] = x[row * cols + c] + table(entry * cols + c);
}
