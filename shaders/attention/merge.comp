// Joins the results of attention_row.comp for the parts of a query row's keys. Sums relative to different largest
// scores are rescaled to the overall largest one.
//
// partial: (B, Tq, heads, parts) rows of D sums, their largest score and the sum of their exponentials; o: B Tq rows of
// heads D, according to the strides (in rows). Dispatch: one invocation per value of o.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint batch;
    uint queries;
    uint heads;
    uint depth; // D
    uint parts;
    uint batch_stride;
    uint time_stride;
};
layout(std430, set = 0, binding = 0) readonly buffer Partial { float partial[]; };
layout(std430, set = 0, binding = 1) writeonly buffer O { float o[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= batch * queries * heads * depth) return;
    const uint c = i % depth, line = i / depth; // of (B, Tq, heads)
    const uint width = depth + 2u, first = line * parts * width;

    float greatest = partial[first + depth];
    for (uint p = 1u; p < parts; ++p) greatest = max(greatest, partial[first + p * width + depth]);
    float sum = 0.0, total = 0.0;
    for (uint p = 0u; p < parts; ++p) {
        const uint at = first + p * width;
        const float shrink = exp(partial[at + depth] - greatest);
        sum += shrink * partial[at + c];
        total += shrink * partial[at + depth + 1u];
    }
    const uint head = line % heads, t = line / heads % queries, b = line / heads / queries;
    o[((b * batch_stride + t * time_stride) * heads + head) * depth + c] = total == 0.0 ? 0.0 : sum / total;
}
