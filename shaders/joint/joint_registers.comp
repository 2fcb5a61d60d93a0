// joint.glsl with the sums in registers: no shared memory, no barriers. For software drivers.
//
// Dispatch: a workgroup of 32 computes TILE_ROWS rows x 128 columns of one matrix, or with GATED of both; each invocation
// all rows of 4 adjacent columns. All workgroups of A come first.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "joint/joint.glsl"

layout(local_size_x = 32) in;

vec4 weight_step(uint which, uint i) { return which == 0u ? weight_a4(i) : which == 1u ? weight_b4(i) : weight_c4(i); }

void add_columns(uint which, uint first_row, uint col, bool with_squares) {
    const uint steps = inner / 4u;
    const uvec4 w_at = columns_from(which, col) * steps;
    for (uint k = 0u; k < steps; ++k) {
        const vec4 w[4] = vec4[](weight_step(which, w_at.x + k), weight_step(which, w_at.y + k),
                                 weight_step(which, w_at.z + k), weight_step(which, w_at.w + k));
        const vec4 factors = factors_step(k);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            vec4 v = x4[min(first_row + r, rows - 1u) * steps + k];
            if (NORM && with_squares) squares[r / 4u][r % 4u] += dot(v, v);
            if (NORM) v *= factors;
            sum[r] += vec4(dot(v, w[0]), dot(v, w[1]), dot(v, w[2]), dot(v, w[3]));
        }
    }
}

vec4 finished_columns(uint which, uint r, uint col) {
    const float scale = norm_scale(squares[r / 4u][r % 4u]);
    vec4 four;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) four[j] = finished(which, col + j, sum[r][j], scale);
    return four;
}

void main() {
    const uvec3 across = (uvec3(cols_a, GATED ? 0u : cols_b, GATED ? 0u : cols_c) + LAMINA_REGISTER_COLS - 1u) / LAMINA_REGISTER_COLS;
    const uint all = across.x + across.y + across.z, n = workgroup_number();
    const uint first_row = n / all * TILE_ROWS, tile = n % all;
    if (first_row >= rows) return;
    const uint which = tile < across.x ? 0u : tile < across.x + across.y ? 1u : 2u;
    const uint first_tile = (which > 0u ? across.x : 0u) + (which > 1u ? across.y : 0u);
    const uint col = (tile - first_tile) * LAMINA_REGISTER_COLS + gl_LocalInvocationID.x * 4u;
    if (col >= columns(which)) return;

    clear_sums();
    squares[0] = squares[1] = vec4(0.0);
    if (which == 0u) add_columns(0u, first_row, col, true);
    else if (which == 1u) add_columns(1u, first_row, col, true);
    else add_columns(2u, first_row, col, true);
    vec4 value[TILE_ROWS];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        value[r] = finished_columns(which, r, col);
        [[unroll]] for (uint j = 0u; j < 4u; ++j) value[r][j] = activate(ACTIVATION, value[r][j]);
    }
    if (GATED) {
        clear_sums();
        add_columns(1u, first_row, col, false);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) value[r] *= finished_columns(1u, r, col);
    }
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r)
        [[unroll]] for (uint j = 0u; j < 4u; ++j) store(which, first_row + r, col + j, value[r][j]);
}
