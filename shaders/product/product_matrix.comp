// product.glsl with cooperative matrices of f16 and sums in f32, for GPUs with matrix units.
//
// It is as accurate as the other kernels: each row of X and W is scaled, then each value is split into two halves
// (split.glsl). X comes split (product_halves.comp); weights, whose scales are known (product_scales.comp), are split
// here. An f16 or bf16 weight fits into one half, so that two of the three products are enough. With ONE_PRODUCT, values
// are rounded to one half.
//
// Dispatch: 64 x 64 sums per workgroup; DEPTH values along K at a time go through shared memory, and the next ones are on
// their way to it during the products. A subgroup computes 32 x 32 sums. M, N and K are a shape that the device offers.
// Matrix units may round towards zero, so they only sum DEPTH values along K; ordinary additions do the rest.
// No loop has an unroll hint: lavapipe would compile for minutes.
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
layout(constant_id = LAMINA_OF_MATRIX_DEPTH) const uint DEPTH = 32u;
layout(constant_id = LAMINA_OF_ONE_PRODUCT) const bool ONE_PRODUCT = false;

layout(std430, set = 0, binding = 0) readonly buffer XHalves { uvec4 x_halves[]; };
layout(std430, set = 0, binding = 5) readonly buffer XScales { float x_scales[]; };
layout(std430, set = 0, binding = 6) readonly buffer WScales { float w_scales[]; };

const uint TILE = LAMINA_MATRIX_TILE, OWN = LAMINA_MATRIX_OWN, OWN_ACROSS = TILE / OWN;
const uint SUBGROUPS = OWN_ACROSS * OWN_ACROSS, DOWN = OWN / M, ACROSS = OWN / N, STEPS = DEPTH / K; // matrices
const uint EIGHTS = DEPTH / 8u, LINE = EIGHTS + 1u; // of a row; an odd number of 16 bytes spreads rows over the banks
const uint LOADS = TILE * EIGHTS / gl_WorkGroupSize.x; // of an invocation, of eight values of each operand
const bool W_IN_ONE_HALF = ONE_PRODUCT || weight_dtype == F16 || weight_dtype == BF16;

// The halves of a tile's rows of X and W. At the end sums, which need no more: M rows of each subgroup.
const uint X_LOW = TILE * LINE, W_HIGH = ONE_PRODUCT ? X_LOW : 2u * X_LOW, W_LOW = W_HIGH + TILE * LINE;
const uint SUM_LINE = OWN / 4u + 1u;
shared uvec4 memory[W_IN_ONE_HALF ? W_LOW : W_LOW + TILE * LINE];

#define MATRIX(type, rows, cols, use) coopmat<type, gl_ScopeSubgroup, rows, cols, use>
#define SUM MATRIX(float, M, N, gl_MatrixUseAccumulator)

uint x_at[LOADS], w_of[LOADS]; // the rows that this invocation loads; those beyond the edge repeat the last one
float w_scale[LOADS];
uvec4 x_high[LOADS], x_low[LOADS]; // on their way to shared memory
vec4 w_next[2u * LOADS];

void load(uint first, uint x_plane) {
    const uint eight = gl_LocalInvocationID.x % EIGHTS; // the workgroup is a multiple of EIGHTS
    for (uint i = 0u; i < LOADS; ++i) {
        x_high[i] = x_halves[x_at[i] + first / 8u + eight];
        if (!ONE_PRODUCT) x_low[i] = x_halves[x_plane + x_at[i] + first / 8u + eight];
        for (uint j = 0u; j < 2u; ++j) w_next[2u * i + j] = w_four(w_of[i], first + eight * 8u + 4u * j);
    }
}

void store() {
    for (uint i = 0u; i < LOADS; ++i) {
        const uint e = gl_LocalInvocationID.x + i * gl_WorkGroupSize.x, at = e / EIGHTS * LINE + e % EIGHTS;
        memory[at] = x_high[i];
        if (!ONE_PRODUCT) memory[X_LOW + at] = x_low[i];
        const vec4 a = w_next[2u * i] * w_scale[i], b = w_next[2u * i + 1u] * w_scale[i];
        if (W_IN_ONE_HALF) {
            memory[W_HIGH + at] = uvec4(half_of(a), half_of(b));
        } else {
            uvec2 high_a, low_a, high_b, low_b;
            split(a, high_a, low_a);
            split(b, high_b, low_b);
            memory[W_HIGH + at] = uvec4(high_a, high_b);
            memory[W_LOW + at] = uvec4(low_a, low_b);
        }
    }
}

void main() {
    const uint col_tiles = (cols + TILE - 1u) / TILE, tile = workgroup_number();
    const uint first_row = tile / col_tiles * TILE, first_col_of_tile = tile % col_tiles * TILE;
    if (first_row >= rows) return; // the same for the whole workgroup

    const uint x_line = (inner + LAMINA_MATRIX_MOST_K - 1u) / LAMINA_MATRIX_MOST_K * (LAMINA_MATRIX_MOST_K / 8u);
    for (uint i = 0u; i < LOADS; ++i) {
        const uint line = (gl_LocalInvocationID.x + i * gl_WorkGroupSize.x) / EIGHTS;
        x_at[i] = min(first_row + line, rows - 1u) * x_line;
        w_of[i] = min(first_col_of_tile + line, cols - 1u);
        w_scale[i] = w_scales[first_col + w_of[i]];
    }
    const bool multiplies = gl_SubgroupID < SUBGROUPS; // others only load
    const uint own_row = gl_SubgroupID / OWN_ACROSS * OWN, own_col = gl_SubgroupID % OWN_ACROSS * OWN;
    SUM sum[DOWN * ACROSS];
    for (uint i = 0u; i < DOWN * ACROSS; ++i) sum[i] = SUM(0.0);
    for (uint next = 0u;; next += DEPTH) {
        if (next < inner) load(next, rows * x_line); // memory answers during the products
        if (next != 0u && multiplies) {
            MATRIX(float16_t, K, N, gl_MatrixUseB) b_high[ACROSS * STEPS], b_low[ACROSS * STEPS];
            for (uint j = 0u; j < ACROSS; ++j)
                for (uint s = 0u; s < STEPS; ++s) {
                    const uint at = W_HIGH + (own_col + j * N) * LINE + s * K / 8u;
                    coopMatLoad(b_high[j * STEPS + s], memory, at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                    if (!W_IN_ONE_HALF)
                        coopMatLoad(b_low[j * STEPS + s], memory, W_LOW - W_HIGH + at, LINE,
                                    gl_CooperativeMatrixLayoutColumnMajor);
                }
            for (uint i = 0u; i < DOWN; ++i) {
                MATRIX(float16_t, M, K, gl_MatrixUseA) a_high[STEPS], a_low[STEPS];
                for (uint s = 0u; s < STEPS; ++s) {
                    const uint at = (own_row + i * M) * LINE + s * K / 8u;
                    coopMatLoad(a_high[s], memory, at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                    if (!ONE_PRODUCT)
                        coopMatLoad(a_low[s], memory, X_LOW + at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                }
                for (uint j = 0u; j < ACROSS; ++j) {
                    SUM part = SUM(0.0);
                    for (uint s = 0u; s < STEPS; ++s) {
                        if (!ONE_PRODUCT) part = coopMatMulAdd(a_low[s], b_high[j * STEPS + s], part);
                        if (!W_IN_ONE_HALF) part = coopMatMulAdd(a_high[s], b_low[j * STEPS + s], part);
                        part = coopMatMulAdd(a_high[s], b_high[j * STEPS + s], part);
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
    for (uint i = 0u; i < DOWN; ++i) {
        if (multiplies)
            for (uint j = 0u; j < ACROSS; ++j)
                coopMatStore(sum[i * ACROSS + j], memory, gl_SubgroupID * M * SUM_LINE + j * N / 4u, SUM_LINE,
                             gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        for (uint e = gl_LocalInvocationID.x; e < SUBGROUPS * M * OWN / 4u; e += gl_WorkGroupSize.x) {
            const uint line = e / (OWN / 4u), four = e % (OWN / 4u), subgroup = line / M;
            const uint row = first_row + subgroup / OWN_ACROSS * OWN + i * M + line % M;
            const uint col = first_col_of_tile + subgroup % OWN_ACROSS * OWN + four * 4u;
            if (row >= rows || col >= cols) continue;
            const float a = inverse_of(x_scales[row]);
            vec4 b;
            for (uint n = 0u; n < 4u; ++n) b[n] = inverse_of(w_scales[first_col + min(col + n, cols - 1u)]);
            const vec4 of_matrix = uintBitsToFloat(memory[line * SUM_LINE + four]);
            precise const vec4 small_first = of_matrix * min(vec4(a), b); // nothing overflows
            finish_four(row, col, small_first * max(vec4(a), b) + biases_of(col));
        }
        barrier(); // the next matrices take their place
    }
}
