// Embedding: y[i] = table[ids[i]] * scale + residual[i].
//
// ids (n); table (V, C), of which rows [first, first + count) are bound; residual (n, C), may be left out; y (n, C).
// Dispatch: one workgroup per id. Its invocations loop over the columns.
//
// A table that exceeds the device's binding limit is split into windows of rows, with one dispatch each. Each id is in
// exactly one window, so the dispatches together write every row of y once.
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
layout(constant_id = 1) const bool HAS_RESIDUAL = false;
layout(std430, set = 0, binding = 2) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number();
    if (i >= n) return;
    const uint row = ids[i] - first; // wraps for an id before the window: not below count
    if (row >= count) return;
    for (uint c = gl_LocalInvocationID.x; c < cols; c += 64u) {
        const float value = table(row * cols + c) * scale;
        y[i * cols + c] = HAS_RESIDUAL ? value + residual[i * cols + c] : value;
    }
}
