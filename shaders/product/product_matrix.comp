// product.glsl with cooperative matrices of f16 and sums in f32, for GPUs with matrix units.
//
// It is as accurate as the other kernels: each row of X and W is scaled (product_scales.comp), then each value is split
// into two halves (split.glsl). An f16 or bf16 weight fits into one half, so that two of the three products are enough.
//
// Dispatch: 64 rows x 64 columns per workgroup; 32 values along K at a time go through shared memory. Each subgroup
// computes a band of M rows, and the plan makes the workgroup as many subgroups as there are bands. M, N and K are a
// shape that the device offers. Matrix units may round towards zero, so they only sum 32 values along K; ordinary
// additions do the rest.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define BUILT_ONCE
#include "product.glsl"
#include "common/split.glsl"

layout(local_size_x_id = LAMINA_OF_WORKGROUP) in;
layout(constant_id = LAMINA_OF_MATRIX_M) const uint M = 16u;
layout(constant_id = LAMINA_OF_MATRIX_N) const uint N = 16u;
layout(constant_id = LAMINA_OF_MATRIX_K) const uint K = 16u;

layout(std430, set = 0, binding = 5) readonly buffer XScales { float x_scales[]; };
layout(std430, set = 0, binding = 6) readonly buffer WScales { float w_scales[]; };

const uint ROWS = LAMINA_MATRIX_ROWS, COLS = LAMINA_MATRIX_COLS, DEPTH = LAMINA_MATRIX_DEPTH;
const uint BANDS = ROWS / M, ACROSS = COLS / N;
const uint FOURS = DEPTH / 4u;
const uint LINE = FOURS + 2u; // of a row; an odd multiple of 16 bytes spreads rows over the memory banks
const bool IN_ONE_HALF = weight_dtype == F16 || weight_dtype == BF16;

// The halves of 64 rows of X and W. At the end, the sums: [ROWS][COLS] floats, which need less.
shared uvec2 memory[2u * (ROWS + COLS) * LINE];
const uint X_LOW = ROWS * LINE, W_HIGH = 2u * X_LOW, W_LOW = W_HIGH + COLS * LINE;

#define MATRIX(type, rows, cols, use) coopmat<type, gl_ScopeSubgroup, rows, cols, use>

// Copies the values along K, starting at k, to shared memory. Rows beyond the edge repeat the last one; finish() drops
// their sums.
void load(uint first_row, uint tile_col, uint k) {
    for (uint i = gl_LocalInvocationID.x; i < ROWS * FOURS; i += gl_WorkGroupSize.x) {
        const uint row = min(first_row + i / FOURS, rows - 1u), at = i / FOURS * LINE + i % FOURS;
        split(x_four(row, k + i % FOURS * 4u) * x_scales[row], memory[at], memory[X_LOW + at]);
    }
    for (uint i = gl_LocalInvocationID.x; i < COLS * FOURS; i += gl_WorkGroupSize.x) {
        const uint col = min(tile_col + i / FOURS, cols - 1u), at = i / FOURS * LINE + i % FOURS;
        split(w_four(col, k + i % FOURS * 4u) * w_scales[first_col + col], memory[W_HIGH + at], memory[W_LOW + at]);
    }
}

void main() {
    const uint col_tiles = (cols + COLS - 1u) / COLS, tile = workgroup_number();
    const uint first_row = tile / col_tiles * ROWS, tile_col = tile % col_tiles * COLS;
    if (first_row >= rows) return; // the same for the whole workgroup

    const uint band = gl_SubgroupID; // subgroups beyond BANDS only load
    MATRIX(float, M, N, gl_MatrixUseAccumulator) sum[ACROSS];
    for (uint j = 0u; j < ACROSS; ++j) sum[j] = MATRIX(float, M, N, gl_MatrixUseAccumulator)(0.0);
    for (uint first = 0u; first < inner; first += DEPTH) {
        barrier(); // the previous values are no longer needed
        load(first_row, tile_col, first);
        barrier();
        if (band >= BANDS) continue;
        for (uint j = 0u; j < ACROSS; ++j) {
            MATRIX(float, M, N, gl_MatrixUseAccumulator) part = MATRIX(float, M, N, gl_MatrixUseAccumulator)(0.0);
            for (uint k = 0u; k < DEPTH; k += K) {
                const uint a_at = band * M * LINE + k / 4u, b_at = j * N * LINE + k / 4u;
                MATRIX(float16_t, M, K, gl_MatrixUseA) a_high, a_low;
                MATRIX(float16_t, K, N, gl_MatrixUseB) b_high, b_low;
                coopMatLoad(a_high, memory, a_at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                coopMatLoad(a_low, memory, X_LOW + a_at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                coopMatLoad(b_high, memory, W_HIGH + b_at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                part = coopMatMulAdd(a_low, b_high, part);
                if (!IN_ONE_HALF) {
                    coopMatLoad(b_low, memory, W_LOW + b_at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                    part = coopMatMulAdd(a_high, b_low, part);
                }
                part = coopMatMulAdd(a_high, b_high, part);
            }
            sum[j] += part;
        }
    }

    // Results go through shared memory, because the layout of a matrix in registers is not specified.
    barrier();
    if (band < BANDS)
        for (uint j = 0u; j < ACROSS; ++j)
            coopMatStore(sum[j], memory, (band * M * COLS + j * N) / 2u, COLS / 2u, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < ROWS * COLS; i += gl_WorkGroupSize.x) {
        const uint row = first_row + i / COLS, col = tile_col + i % COLS;
        if (row >= rows || col >= cols) continue;
        const float a = inverse_of(x_scales[row]), b = inverse_of(w_scales[first_col + col]);
        precise const float small_first = uintBitsToFloat(memory[i / 2u][i % 2u]) * min(a, b); // nothing overflows
        finish(row, col, small_first * max(a, b) + bias_of(col));
    }
}
