// product.glsl with few loads of 16 bytes each. Sums are in registers, as in product_registers.comp, and X is shared
// within subgroups.
//
// Rows of W and X are padded to whole groups of 16 bytes (product_pad.comp), and blocks are arranged in tiles
// (product_pack.comp). `inner` includes the padding.
//
// Dispatch: a workgroup of 32 computes TILE_ROWS rows x 128 columns; each invocation all rows of 4 adjacent columns.
// All invocations need the same values of X: each SHARE of them load one vec4 each and exchange them.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define VEC4
#include "product.glsl"
#include "columns.glsl"

layout(local_size_x = 32) in;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_REGISTER_ROWS;
layout(constant_id = LAMINA_OF_SHARE) const uint SHARE = LAMINA_PACKED_SHARE; // 4 or 8: no more than are in a subgroup

// With few rows, several vectors are loaded at a time, so that every invocation has one to load.
const uint FIT = SHARE / TILE_ROWS, SPAN = FIT == 0u ? 1u : FIT < VECTORS ? FIT : VECTORS;
const uint LOADS = (TILE_ROWS * SPAN + SHARE - 1u) / SHARE; // per invocation
const uint MOST_LOADS = (TILE_ROWS + 3u) / 4u;              // for any SHARE, because only TILE_ROWS may size arrays

void main() {
    const uint col_tiles = (cols + LAMINA_REGISTER_COLS - 1u) / LAMINA_REGISTER_COLS;
    const uint tile = workgroup_number();
    const uint first_row = tile / col_tiles * TILE_ROWS;
    const uint first_col_of_four = tile % col_tiles * LAMINA_REGISTER_COLS + gl_LocalInvocationID.x * 4u;
    if (first_row >= rows) return; // the same for the whole workgroup; beyond the last column, all stay to load

    const uint row_vectors = inner / 4u;
    uint x_at[MOST_LOADS]; // rows beyond the edge repeat the last one; finish() drops them
    [[unroll]] for (uint i = 0u; i < LOADS; ++i) {
        const uint item = i * SHARE + gl_SubgroupInvocationID % SHARE; // all rows of a vector, then those of the next
        x_at[i] = min(first_row + item % TILE_ROWS, rows - 1u) * row_vectors + min(item / TILE_ROWS, SPAN - 1u);
    }
    find_columns(first_col_of_four);

    vec4 sum[TILE_ROWS];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = vec4(0.0);
    for (uint group = 0u; group < row_vectors / VECTORS; ++group) {
        read_group(group);
        vec4 held[MOST_LOADS];
        [[unroll]] for (uint q = 0u; q < VECTORS; ++q) {
            if (q % SPAN == 0u)
                [[unroll]] for (uint i = 0u; i < LOADS; ++i) held[i] = x4[x_at[i] + group * VECTORS + q];
            const vec4 w0 = column(0u, q), w1 = column(1u, q), w2 = column(2u, q), w3 = column(3u, q);
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                const uint item = q % SPAN * TILE_ROWS + r;
                const vec4 v = subgroupShuffle(held[item / SHARE], item % SHARE);
                sum[r] += vec4(dot(v, w0), dot(v, w1), dot(v, w2), dot(v, w3));
            }
        }
    }

    const vec4 b = biases_of(first_col_of_four);
    // The sums move down row by row, so that the code that finishes one is there once, and compilers are done sooner.
    [[dont_unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        finish_four(first_row + r, first_col_of_four, sum[0] + b);
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) sum[i - 1u] = sum[i];
    }
}
