// joint.glsl for a handful of rows (generation has one row per sequence), on GPUs.
//
// Dispatch: a workgroup of LANES computes 4 columns of one matrix, or with GATED 2 of A and 2 of B, for all rows, TILE_ROWS
// of them (at most 8). Its invocations interleave along K, a group of values each. Their sums are joined by a tree in
// shared memory; with SUBGROUP defined, subgroups of any size join theirs first. All workgroups of A come first.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "joint/joint.glsl"

#define STEP vec4
#define STEP_OF(name) name##4
const uint STEP_SIZE = 4u;
#include "common/groups.glsl"
GROUPS(weight_a)
GROUPS(weight_b)
GROUPS(weight_c)

layout(local_size_x_id = 12) in;
layout(constant_id = 13) const uint SUMS = 512;    // LANES * TILE_ROWS; joint.hpp keeps it below that
layout(constant_id = 14) const uint SQUARES = 512; // LANES for every four rows

#define LANES gl_WorkGroupSize.x
const uint FOURS = (TILE_ROWS + 3u) / 4u; // of rows

shared vec4 partial[SUMS]; // partial sums that have not been joined yet, LANES for each row
shared vec4 partial_squares[SQUARES];

Group group_of(uint which, uint g) {
    return which == 0u ? weight_a_group(g) : which == 1u ? weight_b_group(g) : weight_c_group(g);
}

// Some columns of a matrix: those of the tile's four from `first` to end - 1.
struct Columns {
    uint which, first, end;
};
uint dtype_of(uint which) { return which == 0u ? weight_a_dtype : which == 1u ? weight_b_dtype : weight_c_dtype; }
bool has(Columns columns, uint j) { return j >= columns.first && j < columns.end; }

Group w[4]; // of these columns, at groups g of the matrix
uvec4 g;

Scales scales_of(Columns columns, uint upper, uint i) {
    Scales scales = Scales(vec4(0.0), vec4(0.0)); // of other columns
    [[unroll]] for (uint j = 0u; j < 4u; ++j)
        if (has(columns, j)) {
            const vec2 found = group_scale(dtype_of(columns.which), w[j], g[j], upper, i);
            scales.scale[j] = found.x, scales.minimum[j] = found.y;
        }
    return scales;
}

vec4 run[TILE_ROWS];    // sums of a group's steps that share a scale
float total[TILE_ROWS]; // of x in that run, which the minimum is multiplied with

void end_run(Columns columns, uint upper, uint i) {
    const Scales scales = scales_of(columns, upper, i);
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        sum[r] += scales.scale * run[r];
        if (has_minimum(dtype_of(columns.which))) sum[r] -= scales.minimum * total[r];
        run[r] = vec4(0.0), total[r] = 0.0;
    }
}

// Adds the products of half a group of each column.
void add_half(Columns columns, uint k, uint upper) {
    const uint dtype = dtype_of(columns.which);
    Scales scales;
    [[unroll]] for (uint i = 0u; i < GROUP_STEPS; ++i) {
        if (SCALES_WEIGHTS && (i == 0u || ends_run(dtype, upper, i - 1u))) scales = scales_of(columns, upper, i);
        vec4 w_step[4];
        [[unroll]] for (uint j = 0u; j < 4u; ++j)
            if (has(columns, j)) {
                w_step[j] = group_step(dtype, w[j], g[j], upper, i);
                if (SCALES_WEIGHTS) w_step[j] = w_step[j] * scales.scale[j] - scales.minimum[j];
            }
        const uint place = group_place(dtype, k, upper, i);
        const vec4 factors = factors_step(place);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            vec4 v = x4[r * (inner / 4u) + place];
            if (NORM && columns.first == 0u) squares[r / 4u][r % 4u] += dot(v, v);
            if (NORM) v *= factors;
            [[unroll]] for (uint j = 0u; j < 4u; ++j)
                if (has(columns, j)) {
                    const float product = dot(v, w_step[j]);
                    if (SCALES_SUMS)
                        run[r][j] += product;
                    else
                        sum[r][j] += product;
                }
            if (SCALES_SUMS && has_minimum(dtype)) total[r] += dot(v, vec4(1.0));
        }
        if (SCALES_SUMS && ends_run(dtype, upper, i)) end_run(columns, upper, i);
    }
}

void add_group(Columns columns, uvec4 column, uint k) {
    g = column * (inner / GROUP_SIZE) + k;
    [[unroll]] for (uint j = 0u; j < 4u; ++j)
        if (has(columns, j)) w[j] = group_of(columns.which, g[j]);
    if (SCALES_WEIGHTS)
        for (uint upper = 0u; upper < GROUP_HALVES; ++upper) add_half(columns, k, upper);
    else
        [[unroll]] for (uint upper = 0u; upper < GROUP_HALVES; ++upper) add_half(columns, k, upper);
}

// The same for all of K. One matrix after the other: compilers would load the groups of both first, and spill.
void add_columns(Columns columns, uvec4 column) {
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) run[r] = vec4(0.0), total[r] = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < inner / GROUP_SIZE; k += LANES) add_group(columns, column, k);
}

// Joins the sums of all invocations, and returns how many parts remain to be added.
uint join_sums() {
    const uint lane = gl_LocalInvocationID.x;
#ifdef SUBGROUP
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        const vec4 part = subgroupAdd(sum[r]);
        if (subgroupElect()) partial[r * LANES + gl_SubgroupID] = part;
    }
    if (NORM)
        [[unroll]] for (uint q = 0u; q < FOURS; ++q) {
            const vec4 part = subgroupAdd(squares[q]);
            if (subgroupElect()) partial_squares[q * LANES + gl_SubgroupID] = part;
        }
    barrier();
    return gl_NumSubgroups;
#else
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) partial[r * LANES + lane] = sum[r];
    if (NORM)
        [[unroll]] for (uint q = 0u; q < FOURS; ++q) partial_squares[q * LANES + lane] = squares[q];
    for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
        barrier();
        if (lane >= half_way) continue;
        for (uint r = 0u; r < TILE_ROWS; ++r) partial[r * LANES + lane] += partial[r * LANES + lane + half_way];
        if (NORM)
            for (uint q = 0u; q < FOURS; ++q)
                partial_squares[q * LANES + lane] += partial_squares[q * LANES + lane + half_way];
    }
    barrier();
    return 1u;
#endif
}

float joined(uint r, uint j, uint parts) {
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
    const uint tile_cols = GATED ? LAMINA_FEW_COLS / 2u : LAMINA_FEW_COLS;
    const uvec3 across = (uvec3(cols_a, GATED ? 0u : cols_b, GATED ? 0u : cols_c) + tile_cols - 1u) / tile_cols;
    const uint tile = workgroup_number();
    if (tile >= across.x + across.y + across.z) return; // the same for the whole workgroup
    const uint which = tile < across.x ? 0u : tile < across.x + across.y ? 1u : 2u;
    const uint first_tile = (which > 0u ? across.x : 0u) + (which > 1u ? across.y : 0u);
    const uint first_col = (tile - first_tile) * tile_cols;

    clear_sums();
    squares[0] = squares[1] = vec4(0.0);
    uvec4 column = columns_from(which, first_col);
    if (GATED) column = column.xyxy; // B has as many as A
    if (which == 0u) add_columns(Columns(0u, 0u, GATED ? 2u : 4u), column);
    if (GATED || which == 1u) add_columns(Columns(1u, GATED ? 2u : 0u, 4u), column);
    if (which == 2u) add_columns(Columns(2u, 0u, 4u), column);
    const uint parts = join_sums();

    // One invocation finishes each result.
    const uint lane = gl_LocalInvocationID.x, r = lane / tile_cols, j = lane % tile_cols, col = first_col + j;
    if (r >= TILE_ROWS) return;
    const float scale = scale_of(r, parts);
    float value = activate(ACTIVATION, finished(which, col, joined(r, j, parts), scale));
    if (GATED) value *= finished(1u, col, joined(r, j + tile_cols, parts), scale);
    store(which, r, col, value);
}
