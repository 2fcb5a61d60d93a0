// joint.glsl for a handful of rows (generation has one row per sequence), on GPUs.
//
// Dispatch: a workgroup of LANES computes 4 columns of one matrix, or with GATED of both, for all rows, TILE_ROWS of them
// (at most 8). Its invocations interleave along K, 4 values each. Their sums are joined by a tree in shared memory; with
// SUBGROUP defined, subgroups of any size join theirs first. All workgroups of A come first.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "joint/joint.glsl"

layout(local_size_x_id = 12) in;
layout(constant_id = 13) const uint SUMS = 512;    // LANES * TILE_ROWS; joint.hpp keeps it below that
layout(constant_id = 14) const uint SQUARES = 512; // LANES for every four rows

#define LANES gl_WorkGroupSize.x
const uint FOURS = (TILE_ROWS + 3u) / 4u; // of rows

shared vec4 partial[SUMS]; // partial sums that have not been joined yet, LANES for each row
shared vec4 partial_squares[SQUARES];

void add_columns(uint which, uint col, bool with_squares) {
    const uvec4 w_at = columns_from(which, col);
    for (uint k = gl_LocalInvocationID.x; k < inner / 4u; k += LANES) add_step(which, w_at, 0u, k, with_squares);
}

// Joins the sums of all invocations, and returns how many parts remain to be added.
uint join_sums(bool with_squares) {
    const uint lane = gl_LocalInvocationID.x;
#ifdef SUBGROUP
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        const vec4 part = subgroupAdd(sum[r]);
        if (subgroupElect()) partial[r * LANES + gl_SubgroupID] = part;
    }
    if (NORM && with_squares)
        [[unroll]] for (uint q = 0u; q < FOURS; ++q) {
            const vec4 part = subgroupAdd(squares[q]);
            if (subgroupElect()) partial_squares[q * LANES + gl_SubgroupID] = part;
        }
    barrier();
    return gl_NumSubgroups;
#else
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) partial[r * LANES + lane] = sum[r];
    if (NORM && with_squares)
        [[unroll]] for (uint q = 0u; q < FOURS; ++q) partial_squares[q * LANES + lane] = squares[q];
    for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
        barrier();
        if (lane >= half_way) continue;
        for (uint r = 0u; r < TILE_ROWS; ++r) partial[r * LANES + lane] += partial[r * LANES + lane + half_way];
        if (NORM && with_squares)
            for (uint q = 0u; q < FOURS; ++q)
                partial_squares[q * LANES + lane] += partial_squares[q * LANES + lane + half_way];
    }
    barrier();
    return 1u;
#endif
}

float total(uint r, uint j, uint parts) {
    float all = 0.0;
    for (uint i = 0u; i < parts; ++i) all += partial[r * LANES + i][j];
    return all;
}
float scale_of(uint r, uint parts) {
    float square = 0.0;
    for (uint i = 0u; NORM && i < parts; ++i) square += partial_squares[r / 4u * LANES + i][r % 4u];
    return norm_scale(square);
}

void main() {
    const uvec3 across = (uvec3(cols_a, GATED ? 0u : cols_b, GATED ? 0u : cols_c) + LAMINA_FEW_COLS - 1u) / LAMINA_FEW_COLS;
    const uint tile = workgroup_number();
    if (tile >= across.x + across.y + across.z) return; // the same for the whole workgroup
    const uint which = tile < across.x ? 0u : tile < across.x + across.y ? 1u : 2u;
    const uint first_tile = (which > 0u ? across.x : 0u) + (which > 1u ? across.y : 0u);
    const uint first_col = (tile - first_tile) * LAMINA_FEW_COLS;

    clear_sums();
    squares[0] = squares[1] = vec4(0.0);
    if (which == 0u) add_columns(0u, first_col, true);
    else if (which == 1u) add_columns(1u, first_col, true);
    else add_columns(2u, first_col, true);
    const uint parts = join_sums(true);

    // One invocation finishes each sum.
    const uint lane = gl_LocalInvocationID.x, r = lane / 4u, j = lane % 4u, col = first_col + j;
    const bool finishes = r < TILE_ROWS;
    float scale = 1.0, value = 0.0;
    if (finishes) {
        scale = scale_of(r, parts);
        value = finished(which, col, total(r, j, parts), scale);
        value = activate(ACTIVATION, value);
    }
    if (GATED) {
        barrier(); // the parts of the gate have been read
        clear_sums();
        add_columns(1u, first_col, false);
        const uint others = join_sums(false);
        if (finishes) value *= finished(1u, col, total(r, j, others), scale);
    }
    if (finishes) store(which, r, col, value);
}
