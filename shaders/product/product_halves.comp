// Splits the values of X into halves once, for product_matrix.comp, which needs GL_KHR_cooperative_matrix.
//
// X (rows, inner) f32; its scales (rows) f32 (scale.glsl); halves (rows, line) f16, eight to an element, scaled and with
// zeros behind the end of a row: the high ones, and behind them the low ones (split.glsl). With ONE_PRODUCT, there are
// only high ones, rounded.
// Dispatch: a workgroup of 64 per row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/split.glsl"
#include "common/workgroup.glsl"
#include "lamina/plugin/product_numbers.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool ONE_PRODUCT = false;
layout(push_constant) uniform Push {
    uint rows;
    uint inner;
    uint line; // in eights
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Scales { float scales[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Halves { uvec4 halves[]; };

shared uint greatest[64]; // magnitudes, as bits: they sort like the floats, with NaN last

void main() {
    const uint row = workgroup_number(), lane = gl_LocalInvocationID.x;
    if (row >= rows) return; // the same for the whole workgroup
    uint own = 0u;
    for (uint k = lane; k < inner; k += 64u) own = max(own, floatBitsToUint(x[row * inner + k]) & 0x7fffffffu);
    greatest[lane] = own;
    barrier();
    for (uint i = 0u; i < 64u; ++i) own = max(own, greatest[i]);
    const float scale = scale_for(own);
    if (lane == 0u) scales[row] = scale;

    for (uint eight = lane; eight < line; eight += 64u) {
        vec4 v[2];
        for (uint i = 0u; i < 8u; ++i) {
            const uint k = eight * 8u + i;
            v[i / 4u][i % 4u] = k < inner ? x[row * inner + k] * scale : 0.0;
        }
        const uint at = row * line + eight;
        if (ONE_PRODUCT) {
            halves[at] = uvec4(half_of(v[0]), half_of(v[1]));
        } else {
            uvec2 high[2], low[2];
            for (uint i = 0u; i < 2u; ++i) split(v[i], high[i], low[i]);
            halves[at] = uvec4(high[0], high[1]);
            halves[rows * line + at] = uvec4(low[0], low[1]);
        }
    }
}
