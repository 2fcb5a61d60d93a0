// The scale of each row of a matrix (scale.glsl), for kernels with cooperative matrices. Builds without
// GL_KHR_cooperative_matrix do not need it.
//
// value (rows, inner), any dtype of weights, or with ROWS what that declares; scales f32, written from first_row on.
// Dispatch: a workgroup of 64 per row.

#include "common/scale.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint rows;
    uint inner;
    uint first_row;
};
#ifndef ROWS
#define ROWS WEIGHT_OR_BLOCKS
#endif
ROWS(value, 0, 0)
layout(std430, set = 0, binding = 1) writeonly buffer Scales { float scales[]; };

shared uint greatest[64]; // magnitudes, as bits: they sort like the floats, with NaN last

void main() {
    const uint row = workgroup_number(), lane = gl_LocalInvocationID.x;
    if (row >= rows) return; // the same for the whole workgroup
    uint own = 0u;
    for (uint k = lane; k < inner; k += 64u) own = max(own, floatBitsToUint(value(row * inner + k)) & 0x7fffffffu);
    greatest[lane] = own;
    barrier();
    if (lane != 0u) return;
    for (uint i = 1u; i < 64u; ++i) own = max(own, greatest[i]);
    scales[first_row + row] = scale_for(own);
}
