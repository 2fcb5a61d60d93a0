// product.glsl with the sums in registers: no shared memory, no barriers.
//
// Dispatch: a workgroup of 32 computes TILE_ROWS rows x 128 columns; each invocation all rows of 4 adjacent columns.
// All invocations read the same X at the same time, so the address is uniform and one load serves them all. Each value
// of W that an invocation loads serves TILE_ROWS sums. On software drivers, loads matter more than arithmetic, and VEC4
// is three times as fast.

#include "product/product.glsl"

layout(local_size_x = 32) in;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_REGISTER_ROWS;

void main() {
    const uint col_tiles = (cols + LAMINA_REGISTER_COLS - 1u) / LAMINA_REGISTER_COLS;
    const uint tile = workgroup_number();
    uint first_row = tile / col_tiles * TILE_ROWS;
    const uint first_col_of_four = tile % col_tiles * LAMINA_REGISTER_COLS + gl_LocalInvocationID.x * 4u;
#ifdef STACKED
    if (!find_rows(tile / col_tiles, first_row)) return;
#endif
    if (first_row >= ROWS_END || first_col_of_four >= cols) return;

    const uint steps = inner / STEP_SIZE;
    uvec4 w_at; // those beyond the edge repeat the last one; finish() drops them
    [[unroll]] for (uint j = 0u; j < 4u; ++j) w_at[j] = w_row(first_col_of_four + j) * steps;

    vec4 sum[TILE_ROWS];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = vec4(0.0);
    for (uint k = 0u; k < steps; ++k) {
        const STEP w0 = weight_step(w_at.x + k), w1 = weight_step(w_at.y + k);
        const STEP w2 = weight_step(w_at.z + k), w3 = weight_step(w_at.w + k);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            const STEP v = x_step(x_row(first_row + r) * steps + k);
            sum[r] += vec4(dot(v, w0), dot(v, w1), dot(v, w2), dot(v, w3));
        }
    }

    const vec4 b = biases_of(first_col_of_four);
    // The sums move down row by row, so that the code that finishes one is there once, and compilers are done sooner.
    [[dont_unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        finish_four(first_row + r, first_col_of_four, sum[0] + b);
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) sum[i - 1u] = sum[i];
    }
}
