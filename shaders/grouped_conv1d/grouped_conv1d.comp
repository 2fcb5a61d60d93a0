// Grouped convolution over time: y[b, s, n] = act(sum over k, c of x[b, s * stride + k - padding, g * channels + c] *
// weight[n, c, k] + bias[n]) + residual[b, s, n], where g is the group of n. x is zero outside its range of steps, and
// from lengths[b] on.
//
// x (B, length, groups * channels); weight (groups * group_cols, channels, K); bias (groups * group_cols), lengths (B)
// and residual, which is like y, may be left out; y (B, steps, groups * group_cols), treated as `rows` rows.
// Dispatch: a workgroup of 256 computes 64 rows x 64 columns of one group, each invocation 4 x 4 of them. For every 16
// of the values that a column depends on, the rows of x and of the weight are gathered into shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/activation.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 256) in;

layout(constant_id = 2) const uint ACTIVATION = LAMINA_NONE;
layout(constant_id = 3) const uint K = 3u;
layout(constant_id = 4) const bool HAS_LENGTHS = false;
layout(constant_id = 5) const bool HAS_RESIDUAL = false;

layout(push_constant) uniform Push {
    uint rows;
    uint groups;
    uint group_cols;
    uint channels; // of x, in a group
    uint steps;
    uint length;
    uint stride;
    uint padding;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
WEIGHT(weight, 1, 0)
WEIGHT(bias, 2, 1)
layout(std430, set = 0, binding = 3) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 4) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y[]; };

// Lines of an i: [row / 4] and [column / 4]. The one more spreads values over the memory banks.
const uint LINE = 17u;
shared vec4 x_tile[16u * LINE];
shared vec4 w_tile[16u * LINE];

uint counting(uint b) { return HAS_LENGTHS ? min(uint(lengths[b]), length) : length; }

// The value of channel c at step t of sequence b, of whose steps `end` count. A step before the first wraps around to a
// large t.
float x_at(uint b, uint t, uint end, uint c) { return t < end ? x[(b * length + t) * groups * channels + c] : 0.0; }

// Column `col` of group `group`.
void finish(uint row, uint group, uint col, float sum) {
    if (row >= rows || col >= group_cols) return;
    const uint n = group * group_cols + col, at = row * groups * group_cols + n;
    const float v = activate(ACTIVATION, sum + bias(n));
    y[at] = HAS_RESIDUAL ? v + residual[at] : v;
}

void main() {
    const uint col_tiles = (group_cols + 63u) / 64u;
    const uint tile = workgroup_number();
    const uint first_row = tile / (col_tiles * groups) * 64u;
    if (first_row >= rows) return; // the same for the whole workgroup
    const uint group = tile / col_tiles % groups, first_col = tile % col_tiles * 64u;
    const uint inner = channels * K;

    const uint lane = gl_LocalInvocationID.x;
    const uint low = lane % 16u, high = lane / 16u;
    // Each invocation loads 4 rows at one i. Rows beyond the edge repeat the last one; finish() drops their results.
    const uvec4 four = high * 4u + uvec4(0u, 1u, 2u, 3u);
    const uvec4 row = min(first_row + four, uvec4(rows - 1u));
    const uvec4 b = row / steps, t = row % steps * stride - padding;
    const uvec4 end = uvec4(counting(b.x), counting(b.y), counting(b.z), counting(b.w));
    const uvec4 w_row = (group * group_cols + min(first_col + four, uvec4(group_cols - 1u))) * inner;

    vec4 sum0 = vec4(0.0), sum1 = vec4(0.0), sum2 = vec4(0.0), sum3 = vec4(0.0);
    for (uint first = 0u; first < inner; first += 16u) {
        const uint i = first + low;
        vec4 x_four = vec4(0.0), w_four = vec4(0.0);
        if (i < inner) {
            const uint c = group * channels + i / K, k = i % K;
            x_four = vec4(x_at(b.x, t.x + k, end.x, c), x_at(b.y, t.y + k, end.y, c), x_at(b.z, t.z + k, end.z, c),
                          x_at(b.w, t.w + k, end.w, c));
            w_four = vec4(weight(w_row.x + i), weight(w_row.y + i), weight(w_row.z + i), weight(w_row.w + i));
        }
        barrier(); // the previous tile is no longer needed
        x_tile[low * LINE + high] = x_four;
        w_tile[low * LINE + high] = w_four;
        barrier();
        [[unroll]] for (uint j = 0u; j < 16u; ++j) {
            const vec4 a = x_tile[j * LINE + high], w = w_tile[j * LINE + low];
            sum0 += a.x * w;
            sum1 += a.y * w;
            sum2 += a.z * w;
            sum3 += a.w * w;
        }
    }

    for (uint j = 0u; j < 4u; ++j) {
        const uint col = first_col + low * 4u + j;
        finish(first_row + four.x, group, col, sum0[j]);
        finish(first_row + four.y, group, col, sum1[j]);
        finish(first_row + four.z, group, col, sum2[j]);
        finish(first_row + four.w, group, col, sum3[j]);
    }
}
