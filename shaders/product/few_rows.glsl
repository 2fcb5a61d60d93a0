// product.glsl for a handful of rows (generation has one row per sequence), on GPUs.
//
// Dispatch: a workgroup of 64 computes 4 columns of up to TILE_ROWS rows (at most 8). Its invocations interleave along
// K, a group of values each, so that neighbours read adjacent groups of W, each once. Their sums are joined by a tree in
// shared memory; with SUBGROUP defined, subgroups of any size join theirs first.

#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "product/product.glsl"
#include "common/groups.glsl"

GROUPS(weight)

layout(local_size_x = 64) in;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_FEW_ROWS;

shared vec4 partial[TILE_ROWS][64]; // partial sums that have not been joined yet

// The sum over all invocations for column j of row r. All invocations get it.
float joined(uint r, uint j, uint parts) {
    float sum = 0.0;
    for (uint i = 0u; i < parts; ++i) sum += partial[r][i][j];
    return sum;
}

void main() {
    Tile tile;
    if (!find_tile(TILE_ROWS, LAMINA_FEW_COLS, tile)) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x, steps = inner / STEP_SIZE, groups = inner / GROUP_SIZE;
    // Rows and columns beyond the edge repeat the last one; finish() drops them.
    uvec4 w_at;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) w_at[j] = w_row(tile.col + j) * groups;
    vec4 sum[TILE_ROWS], run[TILE_ROWS]; // run: of a group's steps that share a scale
    float total[TILE_ROWS];              // of x in that run, which the minimum is multiplied with
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = run[r] = vec4(0.0), total[r] = 0.0;
    for (uint k = tile.begin / GROUP_SIZE + lane; k < tile.end / GROUP_SIZE; k += 64u) {
        const uvec4 g = w_at + k;
        const Group w[4] = Group[](weight_group(g.x), weight_group(g.y), weight_group(g.z), weight_group(g.w));
        [[unroll]] for (uint s = 0u; s < GROUP_STEPS; ++s) {
            STEP w_step[4];
            [[unroll]] for (uint j = 0u; j < 4u; ++j) w_step[j] = group_step(weight_dtype, w[j], g[j], s);
            const uint place = group_place(weight_dtype, k, s);
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                const STEP v = x_step(x_row(tile.row + r) * steps + place);
                run[r] += vec4(dot(v, w_step[0]), dot(v, w_step[1]), dot(v, w_step[2]), dot(v, w_step[3]));
                if (has_minimum(weight_dtype)) total[r] += dot(v, STEP(1.0));
            }
            if ((s + 1u) % group_run(weight_dtype) == 0u) {
                vec4 scale, minimum;
                [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                    const vec2 found = group_scale(weight_dtype, w[j], g[j], s);
                    scale[j] = found.x, minimum[j] = found.y;
                }
                [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                    sum[r] += scale * run[r];
                    if (has_minimum(weight_dtype)) sum[r] -= minimum * total[r];
                    run[r] = vec4(0.0), total[r] = 0.0;
                }
            }
        }
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
