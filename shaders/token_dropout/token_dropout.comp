// Embeddings without those of masks, scaled by how many these are.
//
// x, y (rows, cols), ids (rows), where each `steps` rows are a sequence; lengths (sequences), may be left out.
// Dispatch: a workgroup of 64 per row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool HAS_LENGTHS = false;

layout(push_constant) uniform Push {
    uint rows;
    uint steps;
    uint cols;
    uint mask;
    float kept; // of the tokens in training
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Ids { uint ids[]; };
layout(std430, set = 0, binding = 2) readonly buffer Lengths { uint lengths[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

void main() {
    const uint row = workgroup_number();
    if (row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x, sequence = row / steps;
    const uint length = HAS_LENGTHS ? lengths[sequence] : steps;
    float found = 0.0; // exact below 2^24
    for (uint t = lane; t < length; t += 64u) found += ids[sequence * steps + t] == mask ? 1.0 : 0.0;
    const uint masks = uint(workgroup_sum(found, 0u));
    const bool none = ids[row] == mask || masks == length;
    const float factor = none ? 0.0 : kept * float(length) / float(length - masks);
    for (uint c = lane; c < cols; c += 64u) y[row * cols + c] = none ? 0.0 : x[row * cols + c] * factor;
}
