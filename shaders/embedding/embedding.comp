// Embedding: y[i] = table[ids[i]] * scale.
//
// ids (n); table (V, C), of which rows [first, first + count) are bound; y (n, C).
// Dispatch: one workgroup an id; its invocations take the columns in turn.
//
// A table that exceeds the device's binding limit comes in windows of rows, one dispatch each. Each id lies in exactly
// one window, so the dispatches together write every row of y once.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint n;
    uint cols;
    uint first;
    uint count;
    float scale;
};
layout(std430, set = 0, binding = 0) readonly buffer Ids { uint ids[]; }; // I32, checked by the host: 0 <= id < V
WEIGHT_OR_BLOCKS(table, 1, 0)
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number();
    if (i >= n) return;
    const uint row = ids[i] - first; // wraps, and so is not below count, for an id before the window
    if (row >= count) return;
    for (uint c = gl_LocalInvocationID.x; c < cols; c += 64u) y[i * cols + c] = table(row * cols + c) * scale;
}
