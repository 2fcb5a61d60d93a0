// D = 2 * (A * B + C) + 1, by one subgroup; A has 32 x 8 values, B 8 x 16.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 8) in;
layout(constant_id = 0) const uint COLS = 16u;  // of B
layout(constant_id = 1) const uint STRIDE = 4u; // of C, in fours
layout(constant_id = 2) const uint LEAVER = 8u; // an invocation that returns early; 8: none
layout(constant_id = 3) const uint STORES = 1u; // of D

layout(std430, set = 0, binding = 0) readonly buffer A { uvec4 a[]; }; // two halves a word
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; }; // column by column
layout(std430, set = 0, binding = 2) readonly buffer C { vec4 c[]; };
layout(std430, set = 0, binding = 3) buffer D { float d[]; }; // column by column
shared float16_t tile[8 * 16];

void main() {
    const uint i = gl_LocalInvocationID.x;
    for (uint k = i; k < 8u * 16u; k += 8u) tile[k] = float16_t(b[k]);
    barrier();
    if (i == LEAVER) return;
    coopmat<float16_t, gl_ScopeSubgroup, 32, 8, gl_MatrixUseA> left;
    coopmat<float16_t, gl_ScopeSubgroup, 8, COLS, gl_MatrixUseB> right;
    coopmat<float, gl_ScopeSubgroup, 32, COLS, gl_MatrixUseAccumulator> sum;
    coopMatLoad(left, a, 0u, 1u, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(right, tile, 0u, 8u, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(sum, c, 0u, STRIDE, gl_CooperativeMatrixLayoutRowMajor);
    sum = coopMatMulAdd(left, right, sum) * 2.0;
    for (uint k = 0u; k < sum.length(); ++k) sum[k] += 1.0;
    for (uint k = 0u; k < STORES; ++k) coopMatStore(sum, d, 0u, 32u, gl_CooperativeMatrixLayoutColumnMajor);
}
