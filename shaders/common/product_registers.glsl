// product.glsl with the sums in registers: no shared memory, no barriers.
//
// Dispatch: a workgroup of 32 computes TILE_ROWS rows x 128 columns; each invocation the rows of 4 adjacent columns.
// All invocations read the same X at the same time, so the address is uniform and the load is one for all of them; each
// value of W that an invocation loads serves TILE_ROWS sums. Loads, not arithmetic, decide on drivers without caches
// of their own, and there VEC4 (inner a multiple of 4, weights and X read four at a time) is worth a factor of three.

#include "common/product.glsl"
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 32) in;
layout(constant_id = 4) const uint TILE_ROWS = 16u;

#ifdef VEC4
#define STEP vec4
#define WIDTH 4u
layout(std430, set = 0, binding = 0) readonly buffer X4 { vec4 x4[]; };
vec4 x_step(uint i) { return x4[i]; }
vec4 weight_step(uint i) { return weight4(i); }
#else
#define STEP float
#define WIDTH 1u
float x_step(uint i) { return x[i]; }
float weight_step(uint i) { return weight(i); }
#endif

void main() {
    const uint col_tiles = (cols + 127u) / 128u;
    const uint tile = workgroup_number();
    const uint first_row = tile / col_tiles * TILE_ROWS;
    const uint first_col_of_four = tile % col_tiles * 128u + gl_LocalInvocationID.x * 4u;
    if (first_row >= rows || first_col_of_four >= cols) return;

    const uint steps = inner / WIDTH;
    uvec4 w_row; // rows and columns beyond the edge repeat the last one; finish() drops them
    [[unroll]] for (uint j = 0u; j < 4u; ++j) w_row[j] = min(first_col_of_four + j, cols - 1u) * steps;

    vec4 sum[TILE_ROWS];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = vec4(0.0);
    for (uint k = 0u; k < steps; ++k) {
        const STEP w0 = weight_step(w_row.x + k), w1 = weight_step(w_row.y + k);
        const STEP w2 = weight_step(w_row.z + k), w3 = weight_step(w_row.w + k);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            const STEP v = x_step(min(first_row + r, rows - 1u) * steps + k);
            sum[r] += vec4(dot(v, w0), dot(v, w1), dot(v, w2), dot(v, w3));
        }
    }

    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r)
        [[unroll]] for (uint j = 0u; j < 4u; ++j) finish(first_row + r, first_col_of_four + j, sum[r][j]);
}
