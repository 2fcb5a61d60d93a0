// product.glsl with shared memory, for GPUs.
//
// Dispatch: a workgroup of 256 computes 64 rows x 64 columns, each invocation 4 x 4 of them. X and W go through shared
// memory, 16 values along K at a time, transposed so that four rows are adjacent. An invocation then reads its 4 rows
// and its 4 columns as one vec4 each, for 16 multiply-adds. 17, an odd number, spreads them over the memory banks.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "product.glsl"

layout(local_size_x = 256) in;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_SHARED_ROWS; // no other value is supported

shared vec4 x_tile[16][17]; // [k][row / 4]
shared vec4 w_tile[16][17]; // [k][column / 4]

void main() {
    const uint col_tiles = (cols + LAMINA_SHARED_COLS - 1u) / LAMINA_SHARED_COLS;
    const uint tile = workgroup_number();
    const uint first_row = tile / col_tiles * TILE_ROWS, tile_col = tile % col_tiles * LAMINA_SHARED_COLS;
    if (first_row >= rows) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x;
    const uint low = lane % 16u, high = lane / 16u;
    // Each invocation loads 4 rows at one k. Rows beyond the edge repeat the last one; finish() drops their results.
    const uvec4 four = high * 4u + uvec4(0u, 1u, 2u, 3u);
    const uvec4 x_row = min(first_row + four, uvec4(rows - 1u)) * inner;
    const uvec4 w_row = min(tile_col + four, uvec4(cols - 1u)) * inner;

    vec4 sum0 = vec4(0.0), sum1 = vec4(0.0), sum2 = vec4(0.0), sum3 = vec4(0.0);
    for (uint first = 0u; first < inner; first += 16u) {
        const uint k = first + low;
        vec4 x_four = vec4(0.0), w_four = vec4(0.0);
        if (k < inner) {
            x_four = vec4(x[x_row.x + k], x[x_row.y + k], x[x_row.z + k], x[x_row.w + k]);
            w_four = vec4(weight(w_row.x + k), weight(w_row.y + k), weight(w_row.z + k), weight(w_row.w + k));
        }
        barrier(); // the previous tile is no longer needed
        x_tile[low][high] = x_four;
        w_tile[low][high] = w_four;
        barrier();
        for (uint i = 0u; i < 16u; ++i) {
            const vec4 a = x_tile[i][high], b = w_tile[i][low];
            sum0 += a.x * b;
            sum1 += a.y * b;
            sum2 += a.z * b;
            sum3 += a.w * b;
        }
    }

    for (uint j = 0u; j < 4u; ++j) {
        const uint col = tile_col + low * 4u + j;
        const float b = bias_of(col);
        finish(first_row + four.x, col, sum0[j] + b);
        finish(first_row + four.y, col, sum1[j] + b);
        finish(first_row + four.z, col, sum2[j] + b);
        finish(first_row + four.w, col, sum3[j] + b);
    }
}
