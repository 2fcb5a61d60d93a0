// The indices of the two greatest values of each row, or others. Dispatch: one invocation per row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint rows;
    uint size;
    uint fault;
    uint is_given;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Given { int given[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Best { int best[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Margin { float margin[]; };

void main() {
    const uint row = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (row >= rows) return;
    int found[3];
    for (int k = 0; k < 3; ++k) {
        found[k] = -1;
        for (int i = 0; i < int(size); ++i) {
            if (k > 0 && i == found[0] || k > 1 && i == found[1]) continue;
            const float v = x[row * size + i];
            if (found[k] < 0) {
                found[k] = i;
                continue;
            }
            const float than = x[row * size + found[k]];
            const float near = fault == 1u ? 4e-6 * max(abs(v), abs(than)) : 0.0;
            if (v > than || fault == 1u && v >= than - near) found[k] = i;
        }
    }
    if (fault == 2u) found[1] = found[2];
    if (fault == 3u) found[1] = found[0];
    if (fault == 4u) found[1] = int(size);
    if (is_given != 0u) found[0] = given[row * 2u], found[1] = given[row * 2u + 1u];
    best[row * 2u] = found[0];
    best[row * 2u + 1u] = found[1];
    const float least = min(x[row * size + found[0]], x[row * size + min(found[1], int(size) - 1)]);
    float other = -3.402823466e38;
    for (int i = 0; i < int(size); ++i)
        if (i != found[0] && i != found[1]) other = max(other, x[row * size + i]);
    const float magnitude = max(abs(least), abs(other));
    margin[row] = magnitude == 0.0 ? 0.0 : least / magnitude - other / magnitude;
}
