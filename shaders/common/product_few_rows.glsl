// product.glsl for a handful of rows (generation works on one row a sequence), on GPUs.
//
// Dispatch: a workgroup of 64 computes 4 columns of up to TILE_ROWS rows (at most 8). Its invocations take the values
// along K in turn, so that they read W side by side, each value once; a tree in shared memory joins their sums.

#include "common/product.glsl"
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64) in;
layout(constant_id = 4) const uint TILE_ROWS = 8u; // at most 8

shared vec4 partial[TILE_ROWS][64];

void main() {
    const uint col_tiles = (cols + 3u) / 4u;
    const uint tile = workgroup_number();
    const uint first_row = tile / col_tiles * TILE_ROWS, tile_col = tile % col_tiles * 4u;
    if (first_row >= rows) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x;
    // Rows and columns beyond the edge repeat the last one; finish() drops them.
    const uvec4 w_row = min(tile_col + uvec4(0u, 1u, 2u, 3u), uvec4(cols - 1u)) * inner;
    vec4 sum[TILE_ROWS];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = vec4(0.0);
    for (uint k = lane; k < inner; k += 64u) {
        const vec4 w = vec4(weight(w_row.x + k), weight(w_row.y + k), weight(w_row.z + k), weight(w_row.w + k));
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] += x[min(first_row + r, rows - 1u) * inner + k] * w;
    }

    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) partial[r][lane] = sum[r];
    for (uint half_way = 32u; half_way > 0u; half_way /= 2u) {
        barrier();
        if (lane < half_way)
            for (uint r = 0u; r < TILE_ROWS; ++r) partial[r][lane] += partial[r][lane + half_way];
    }
    barrier();
    if (lane < 4u * TILE_ROWS) finish(first_row + lane / 4u, tile_col + lane % 4u, partial[lane / 4u][0][lane % 4u]);
}
