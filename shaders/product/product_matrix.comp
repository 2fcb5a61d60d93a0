// product.glsl with cooperative matrices of f16 and sums in f32, for GPUs with matrix units.
//
// It is as accurate as the other kernels: each row of X and W is scaled (product_scales.comp), then each value is split
// into two halves (split.glsl). An f16 or bf16 weight fits into one half, so that two of the three products are enough.
// With ONE_PRODUCT, values are rounded to one half.
//
// Dispatch: 64 x 64 sums per workgroup; 32 values along K at a time go through shared memory, and the next ones are
// on their way to it during the products. A subgroup computes 32 rows x half of the columns. M, N and K are a shape that
// the device offers. Matrix units may round towards zero, so they only sum 32 values along K; ordinary additions do the
// rest.
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
layout(constant_id = LAMINA_OF_MATRIX_LOADS) const uint LOADS = 4u; // of an invocation, of four values; at most 4
layout(constant_id = LAMINA_OF_ONE_PRODUCT) const bool ONE_PRODUCT = false;

layout(std430, set = 0, binding = 5) readonly buffer XScales { float x_scales[]; };
layout(std430, set = 0, binding = 6) readonly buffer WScales { float w_scales[]; };

const uint TILE = LAMINA_MATRIX_TILE, DEPTH = LAMINA_MATRIX_DEPTH, STEPS = DEPTH / K, FOURS = DEPTH / 4u;
const uint LINE = FOURS + 2u; // of a row; an odd multiple of 16 bytes spreads rows over the memory banks
const uint SUBGROUPS = TILE / 32u * 2u, HALF = TILE / 2u;
const uint DOWN = 32u / M, ACROSS = HALF / N; // matrices of a subgroup
const bool W_IN_ONE_HALF = ONE_PRODUCT || weight_dtype == F16 || weight_dtype == BF16;

// The halves of a tile's rows of X and W. At the end, the sums of one matrix of each subgroup.
const uint X_LOW = TILE * LINE, W_HIGH = ONE_PRODUCT ? X_LOW : 2u * X_LOW, W_LOW = W_HIGH + TILE * LINE;
const uint OPERANDS = ONE_PRODUCT ? 2u * TILE * LINE : 4u * TILE * LINE, SUMS = SUBGROUPS * M * N / 2u;
shared uvec2 memory[OPERANDS > SUMS ? OPERANDS : SUMS];

#define MATRIX(type, rows, cols, use) coopmat<type, gl_ScopeSubgroup, rows, cols, use>
#define SUM MATRIX(float, M, N, gl_MatrixUseAccumulator)

uint x_of[LOADS], w_of[LOADS]; // the rows that this invocation loads from; those beyond the edge repeat the last one
float x_scale[LOADS], w_scale[LOADS];
vec4 x_next[LOADS], w_next[LOADS]; // on their way to shared memory

void load(uint first) {
    const uint k = first + gl_LocalInvocationID.x % FOURS * 4u; // the workgroup is a multiple of FOURS
    for (uint i = 0u; i < LOADS; ++i) {
        x_next[i] = x_four(x_of[i], k);
        w_next[i] = w_four(w_of[i], k);
    }
}

void put(vec4 v, uint at, uint low) {
    if (ONE_PRODUCT) memory[at] = uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
    else split(v, memory[at], memory[low + at]);
}
void store() {
    for (uint i = 0u; i < LOADS; ++i) {
        const uint four = gl_LocalInvocationID.x + i * gl_WorkGroupSize.x, at = four / FOURS * LINE + four % FOURS;
        put(x_next[i] * x_scale[i], at, X_LOW);
        put(w_next[i] * w_scale[i], W_HIGH + at, TILE * LINE);
    }
}

void main() {
    const uint col_tiles = (cols + TILE - 1u) / TILE, tile = workgroup_number();
    const uint first_row = tile / col_tiles * TILE, tile_col = tile % col_tiles * TILE;
    if (first_row >= rows) return; // the same for the whole workgroup

    for (uint i = 0u; i < LOADS; ++i) {
        const uint line = (gl_LocalInvocationID.x + i * gl_WorkGroupSize.x) / FOURS;
        x_of[i] = min(first_row + line, rows - 1u), x_scale[i] = x_scales[x_of[i]];
        w_of[i] = min(tile_col + line, cols - 1u), w_scale[i] = w_scales[first_col + w_of[i]];
    }
    const bool multiplies = gl_SubgroupID < SUBGROUPS; // others only load
    const uint own_row = gl_SubgroupID / 2u * 32u, own_col = gl_SubgroupID % 2u * HALF;
    SUM sum[DOWN * ACROSS];
    for (uint i = 0u; i < DOWN * ACROSS; ++i) sum[i] = SUM(0.0);
    for (uint next = 0u;; next += DEPTH) {
        if (next < inner) load(next); // memory answers during the products
        if (next != 0u && multiplies) {
            MATRIX(float16_t, M, K, gl_MatrixUseA) a_high[DOWN * STEPS], a_low[DOWN * STEPS];
            for (uint i = 0u; i < DOWN; ++i)
                for (uint s = 0u; s < STEPS; ++s) {
                    const uint at = (own_row + i * M) * LINE + s * K / 4u;
                    coopMatLoad(a_high[i * STEPS + s], memory, at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                    if (!ONE_PRODUCT)
                        coopMatLoad(a_low[i * STEPS + s], memory, X_LOW + at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                }
            for (uint j = 0u; j < ACROSS; ++j) {
                MATRIX(float16_t, K, N, gl_MatrixUseB) b_high[STEPS], b_low[STEPS];
                for (uint s = 0u; s < STEPS; ++s) {
                    const uint at = (own_col + j * N) * LINE + s * K / 4u;
                    coopMatLoad(b_high[s], memory, W_HIGH + at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                    if (!W_IN_ONE_HALF)
                        coopMatLoad(b_low[s], memory, W_LOW + at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                }
                for (uint i = 0u; i < DOWN; ++i) {
                    SUM part = SUM(0.0);
                    for (uint s = 0u; s < STEPS; ++s) {
                        if (!ONE_PRODUCT) part = coopMatMulAdd(a_low[i * STEPS + s], b_high[s], part);
                        if (!W_IN_ONE_HALF) part = coopMatMulAdd(a_high[i * STEPS + s], b_low[s], part);
                        part = coopMatMulAdd(a_high[i * STEPS + s], b_high[s], part);
                    }
                    sum[i * ACROSS + j] += part;
                }
            }
        }
        barrier(); // the previous values are no longer needed
        if (next >= inner) break;
        store();
        barrier();
    }

    // Results go through shared memory, because the layout of a matrix in registers is not specified.
    for (uint i = 0u; i < DOWN; ++i)
        for (uint j = 0u; j < ACROSS; ++j) {
            if (multiplies)
                coopMatStore(sum[i * ACROSS + j], memory, gl_SubgroupID * M * N / 2u, N / 2u,
                             gl_CooperativeMatrixLayoutRowMajor);
            barrier();
            for (uint e = gl_LocalInvocationID.x; e < SUBGROUPS * M * N; e += gl_WorkGroupSize.x) {
                const uint subgroup = e / (M * N);
                const uint row = first_row + subgroup / 2u * 32u + i * M + e / N % M;
                const uint col = tile_col + subgroup % 2u * HALF + j * N + e % N;
                if (row >= rows || col >= cols) continue;
                const float a = inverse_of(x_scales[row]), b = inverse_of(w_scales[first_col + col]);
                precise const float small_first = uintBitsToFloat(memory[e / 2u][e % 2u]) * min(a, b); // nothing overflows
                finish(row, col, small_first * max(a, b) + bias_of(col));
            }
            barrier(); // the next matrices take their place
        }
}
