// Convolution over time: y[b, s, n] = act(sum over k, c of x[b, s * stride + k - padding, c] * weight[n, c, k] +
// bias[n]). x is zero outside its range of steps.
//
// x (B, length, channels); weight (cols, channels, K), whose rows are treated as `inner` = channels * K values; bias
// (cols), may be left out; y (B, steps, cols), treated as `rows` rows.
// Dispatch: a workgroup of 256 computes 64 rows x 64 columns, each invocation 4 x 4 of them, like product_tiled.comp,
// but the rows of the first matrix are gathered from x.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/activation.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 256) in;

layout(constant_id = 2) const uint ACTIVATION = LAMINA_NONE;
layout(constant_id = 3) const uint K = 3u;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    uint inner;
    uint steps;
    uint length;
    uint channels;
    uint stride;
    uint padding;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
WEIGHT(bias, 2, 1)
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

// Lines of an i: [row / 4] and [column / 4]. The one more spreads values over the memory banks. They are no arrays of
// arrays, of which compilers would leave out what is not used.
const uint LINE = 17u;
shared vec4 x_tile[16u * LINE];
shared vec4 w_tile[16u * LINE];

// The value at step t of sequence b. A step before the first wraps around to a large t.
float x_at(uint b, uint t, uint c) { return t < length ? x[(b * length + t) * channels + c] : 0.0; }

void finish(uint row, uint col, float sum) {
    if (row < rows && col < cols) y[row * cols + col] = activate(ACTIVATION, sum + bias(col));
}

void main() {
    const uint col_tiles = (cols + 63u) / 64u;
    const uint tile = workgroup_number();
    const uint first_row = tile / col_tiles * 64u, first_col = tile % col_tiles * 64u;
    if (first_row >= rows) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x;
    const uint low = lane % 16u, high = lane / 16u;
    // Each invocation loads 4 rows at one i. Rows beyond the edge repeat the last one; finish() drops their results.
    const uvec4 four = high * 4u + uvec4(0u, 1u, 2u, 3u);
    const uvec4 row = min(first_row + four, uvec4(rows - 1u));
    const uvec4 b = row / steps, t = row % steps * stride - padding;
    const uvec4 w_row = min(first_col + four, uvec4(cols - 1u)) * inner;

    vec4 sum0 = vec4(0.0), sum1 = vec4(0.0), sum2 = vec4(0.0), sum3 = vec4(0.0);
    for (uint first = 0u; first < inner; first += 16u) {
        const uint i = first + low;
        vec4 x_four = vec4(0.0), w_four = vec4(0.0);
        if (i < inner) {
            const uint c = i / K, k = i % K;
            x_four = vec4(x_at(b.x, t.x + k, c), x_at(b.y, t.y + k, c), x_at(b.z, t.z + k, c), x_at(b.w, t.w + k, c));
            w_four = vec4(weight(w_row.x + i), weight(w_row.y + i), weight(w_row.z + i), weight(w_row.w + i));
        }
        barrier(); // the previous tile is no longer needed
        x_tile[low * LINE + high] = x_four;
        w_tile[low * LINE + high] = w_four;
        barrier();
        for (uint j = 0u; j < 16u; ++j) {
            const vec4 a = x_tile[j * LINE + high], w = w_tile[j * LINE + low];
            sum0 += a.x * w;
            sum1 += a.y * w;
            sum2 += a.z * w;
            sum3 += a.w * w;
        }
    }

    for (uint j = 0u; j < 4u; ++j) {
        const uint col = first_col + low * 4u + j;
        finish(first_row + four.x, col, sum0[j]);
        finish(first_row + four.y, col, sum1[j]);
        finish(first_row + four.z, col, sum2[j]);
        finish(first_row + four.w, col, sum3[j]);
    }
}
