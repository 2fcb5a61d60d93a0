// product.glsl for a handful of rows (generation has one row per sequence), on GPUs.
//
// Dispatch: a workgroup of 64 computes 4 columns of up to TILE_ROWS rows (at most 8). Its invocations interleave along
// K, a group of values each, so that neighbours read adjacent groups of W, each once. Their sums are joined by a tree in
// shared memory; with SUBGROUP defined, subgroups of any size join theirs first.

#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "product/product.glsl"

layout(local_size_x = 64) in;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_FEW_ROWS;

#include "common/groups.glsl"
GROUPS(weight)

shared vec4 partial[TILE_ROWS][64]; // partial sums that have not been joined yet

vec4 sum[TILE_ROWS], run[TILE_ROWS]; // run: of a group's steps that share a scale
float total[TILE_ROWS];              // of x in that run, which the minimum is multiplied with

Group w[4]; // of four columns, at groups g of the matrix
uvec4 g;

Scales scales_of(uint upper, uint i) {
    Scales scales;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        const vec2 found = group_scale(weight_dtype, w[j], g[j], upper, i);
        scales.scale[j] = found.x, scales.minimum[j] = found.y;
    }
    return scales;
}

void end_run(uint upper, uint i) {
    const Scales scales = scales_of(upper, i);
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        sum[r] += scales.scale * run[r];
        if (has_minimum(weight_dtype)) sum[r] -= scales.minimum * total[r];
        run[r] = vec4(0.0), total[r] = 0.0;
    }
}

// Adds the products of half a group of each column, the k-th of its row.
void add_half(Tile tile, uint k, uint upper) {
    Scales scales;
    [[unroll]] for (uint i = 0u; i < GROUP_STEPS; ++i) {
        STEP w_step[4];
        if (SCALES_WEIGHTS && (i == 0u || ends_run(weight_dtype, upper, i - 1u))) scales = scales_of(upper, i);
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            w_step[j] = group_step(weight_dtype, w[j], g[j], upper, i);
            if (SCALES_WEIGHTS) w_step[j] = w_step[j] * scales.scale[j] - scales.minimum[j];
        }
        const uint place = group_place(weight_dtype, k, upper, i);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            const STEP v = x_step(x_row(tile.row + r) * (inner / STEP_SIZE) + place);
            const vec4 products = vec4(dot(v, w_step[0]), dot(v, w_step[1]), dot(v, w_step[2]), dot(v, w_step[3]));
            if (SCALES_SUMS)
                run[r] += products;
            else
                sum[r] += products;
            if (SCALES_SUMS && has_minimum(weight_dtype)) total[r] += dot(v, STEP(1.0));
        }
        if (SCALES_SUMS && ends_run(weight_dtype, upper, i)) end_run(upper, i);
    }
}

// The sum over all invocations for column j of row r. All invocations get it.
float joined(uint r, uint j, uint parts) {
    float all = 0.0;
    for (uint i = 0u; i < parts; ++i) all += partial[r][i][j];
    return all;
}

void main() {
    Tile tile;
    if (!find_tile(TILE_ROWS, LAMINA_FEW_COLS, tile)) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x, groups = inner / GROUP_SIZE;
    // Rows and columns beyond the edge repeat the last one; finish() drops them.
    uvec4 w_at;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) w_at[j] = w_row(tile.col + j) * groups;
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = run[r] = vec4(0.0), total[r] = 0.0;
    for (uint k = tile.begin / GROUP_SIZE + lane; k < tile.end / GROUP_SIZE; k += 64u) {
        g = w_at + k;
        w = Group[](weight_group(g.x), weight_group(g.y), weight_group(g.z), weight_group(g.w));
        if (SCALES_WEIGHTS)
            for (uint upper = 0u; upper < GROUP_HALVES; ++upper) add_half(tile, k, upper);
        else
            [[unroll]] for (uint upper = 0u; upper < GROUP_HALVES; ++upper) add_half(tile, k, upper);
    }

#ifdef SUBGROUP
    const uint parts = gl_NumSubgroups;
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        const vec4 part = subgroupAdd(sum[r]);
        if (subgroupElect()) partial[r][gl_SubgroupID] = part;
    }
#else
    const uint parts = 1u;
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) partial[r][lane] = sum[r];
    for (uint half_way = 32u; half_way > 0u; half_way /= 2u) {
        barrier();
        if (lane < half_way)
            for (uint r = 0u; r < TILE_ROWS; ++r) partial[r][lane] += partial[r][lane + half_way];
    }
#endif
    barrier();
    if (lane < 4u * TILE_ROWS) {
        const uint r = lane / 4u, j = lane % 4u;
        finish(tile.row + r, tile.col + j, joined(r, j, parts) + bias_of(tile.col + j));
    }
}
