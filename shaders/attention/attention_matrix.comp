// Attention with cooperative matrices of f16 and sums in f32, for GPUs with matrix units. attend_registers.glsl says
// what is computed, keys.glsl has the shapes. A line is a query of one of the heads that share a key head.
//
// It is as accurate as the other kernels: each row is scaled, then each value is split into two halves (split.glsl).
// attention_scales.comp computes the scales of the rows of Q, K and V. Sums run over the rows of V, so the scale of a
// row of V is divided out of its weights, exp(score - greatest). Each line then scales its own weights. With ONE_PRODUCT,
// values are rounded to one half.
//
// Dispatch: a workgroup of 128 computes 32 lines of one sequence and key head. Keys come 32 at a time, and channels 32
// at a time within them, so all products are 32 x 32 by 32 x 32. The subgroups share the M x N tiles of a product.
// Results go through shared memory, because the layout of a matrix in registers is not specified. The rest is as in
// attention_tiled.comp: an invocation has two lines, 2 x 4 scores, and 2 x 4 sums per 32 channels. Head dims up to 256.
//
// 0 * NaN is NaN, so a value that is not finite would spoil lines that may not attend to its key. Such a row of V is
// left out of the matrix and added separately.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define BUILT_ONCE
#include "keys.glsl"
#include "common/split.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint SLICES = 8u; // of 32 channels in a head; at most 8
layout(constant_id = 3) const uint M = 16u;
layout(constant_id = 4) const uint N = 16u;
layout(constant_id = 5) const uint K = 16u;
layout(constant_id = 6) const bool ONE_PRODUCT = false;

layout(std430, set = 0, binding = 9) readonly buffer Scales { float scales[]; }; // of rows of Q, then K, then V

const uint LINE = 10u; // fours per row of 32, and two for padding, which spreads rows over the memory banks
const float HIDDEN = -3.0e38; // the score of a masked key; below LEAST
const float WILD = 0.0;       // in place of the inverse scale of a row of V that is not finite

// Matrices are loaded from multiples of 16 bytes, as Vulkan demands, so each array of shared memory has a multiple of 16.
const uint LOW = ONE_PRODUCT ? 2u : 32u * LINE;
shared uvec2 a_high[32u * LINE], a_low[LOW];          // [line][channel / 4] of Q, or [line][key / 4] of shares
shared uvec2 b_high[32u * LINE], b_low[LOW];          // [key][channel / 4] of K or V
shared float product[32u * 32u];                      // [line][key], or [line][channel]
shared float share[32u * 33u];                        // [line][key]: scores, then their exponentials; negative: hidden
shared float inverse_scale[32];                       // of the block's rows of V

// Rows of Q, and of K and V, head by head.
uint line_at(uint b, uint kv_head, uint line) {
    return query_row(b, line % queries) * heads + kv_head * (heads / kv_heads) + line / queries;
}
uint key_at(uint b, uint kv_head, uint key) { return key_row(b, key) * kv_heads + kv_head; }
uint k_scales() { return batch * queries * heads; }
uint v_scales() { return k_scales() + batch * key_rows * kv_heads; }

void put_a(vec4 v, uint at) {
    if (ONE_PRODUCT) a_high[at] = half_of(v);
    else split(v, a_high[at], a_low[at]);
}
void put_b(vec4 v, uint at) {
    if (ONE_PRODUCT) b_high[at] = half_of(v);
    else split(v, b_high[at], b_low[at]);
}

// Each copies 32 rows of 32 channels, from channel c on, to shared memory. Rows beyond the last repeat it.
void load_lines(uint b, uint kv_head, uint first, uint c) {
    const uint last = heads / kv_heads * queries - 1u;
    for (uint i = gl_LocalInvocationID.x; i < 32u * 8u; i += 128u) {
        const uint row = line_at(b, kv_head, min(first + i / 8u, last)), to = i / 8u * LINE + i % 8u;
        vec4 four = vec4(0.0);
        for (uint j = 0u; j < 4u; ++j)
            if (c + i % 8u * 4u + j < head_dim) four[j] = q[row * head_dim + c + i % 8u * 4u + j];
        put_a(four * scales[row], to);
    }
}
void load_keys(uint b, uint kv_head, uint first, uint end, uint c) {
    for (uint i = gl_LocalInvocationID.x; i < 32u * 8u; i += 128u) {
        const uint row = key_at(b, kv_head, min(first + i / 8u, end - 1u)), to = i / 8u * LINE + i % 8u;
        vec4 four = vec4(0.0);
        for (uint j = 0u; j < 4u; ++j)
            if (c + i % 8u * 4u + j < head_dim) four[j] = k(row * head_dim + c + i % 8u * 4u + j);
        put_b(four * scales[k_scales() + row], to);
    }
}
void load_values(uint b, uint kv_head, uint first, uint end, uint c) {
    for (uint i = gl_LocalInvocationID.x; i < 32u * 8u; i += 128u) {
        const uint row = key_at(b, kv_head, min(first + i / 8u, end - 1u)), to = i / 8u * LINE + i % 8u;
        vec4 four = vec4(0.0);
        for (uint j = 0u; j < 4u; ++j)
            if (c + i % 8u * 4u + j < head_dim && inverse_scale[i / 8u] != WILD)
                four[j] = v(row * head_dim + c + i % 8u * 4u + j);
        put_b(four * scales[v_scales() + row], to);
    }
}

#define MATRIX(type, rows, cols, use) coopmat<type, gl_ScopeSubgroup, rows, cols, use>

// product = a * b, or a * transposed(b). It is complete after the next barrier.
void multiply(bool transposed) {
    for (uint tile = gl_SubgroupID; tile < 32u / M * (32u / N); tile += gl_NumSubgroups) {
        const uint row = tile / (32u / N) * M, col = tile % (32u / N) * N;
        MATRIX(float, M, N, gl_MatrixUseAccumulator) sum = MATRIX(float, M, N, gl_MatrixUseAccumulator)(0.0);
        for (uint k = 0u; k < 32u; k += K) {
            const uint a_at = row * LINE + k / 4u, b_at = transposed ? col * LINE + k / 4u : k * LINE + col / 4u;
            MATRIX(float16_t, M, K, gl_MatrixUseA) high, low;
            coopMatLoad(high, a_high, a_at, LINE, gl_CooperativeMatrixLayoutRowMajor);
            MATRIX(float16_t, K, N, gl_MatrixUseB) b_h, b_l;
            if (transposed) coopMatLoad(b_h, b_high, b_at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
            else coopMatLoad(b_h, b_high, b_at, LINE, gl_CooperativeMatrixLayoutRowMajor);
            if (!ONE_PRODUCT) {
                coopMatLoad(low, a_low, a_at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                if (transposed) coopMatLoad(b_l, b_low, b_at, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                else coopMatLoad(b_l, b_low, b_at, LINE, gl_CooperativeMatrixLayoutRowMajor);
                sum = coopMatMulAdd(low, b_h, sum);
                sum = coopMatMulAdd(high, b_l, sum);
            }
            sum = coopMatMulAdd(high, b_h, sum);
        }
        coopMatStore(sum, product, row * 32u + col, 32u, gl_CooperativeMatrixLayoutRowMajor);
    }
}

void main() {
    const uint sharing = heads / kv_heads;
    const uint lines = sharing * queries, blocks = (lines + 31u) / 32u;
    uint n = workgroup_number();
    const uint first_line = n % blocks * 32u;
    n /= blocks;
    const uint kv_head = n % kv_heads, b = n / kv_heads;
    if (b >= batch) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x;
    const uint low = lane % 8u, high = lane / 8u;
    // This invocation's two lines. A line beyond the last repeats it and is not written.
    const uvec2 line = min(first_line + uvec2(high, high + 16u), uvec2(lines - 1u));
    const uvec2 head = kv_head * sharing + line / queries, t = line % queries;
    const uvec2 q_row = uvec2(line_at(b, kv_head, line.x), line_at(b, kv_head, line.y));
    const vec2 q_inverse = vec2(inverse_of(scales[q_row.x]), inverse_of(scales[q_row.y]));
    const uvec2 skipped = uvec2(skipped_keys(b, t.x), skipped_keys(b, t.y));
    const uvec2 end = uvec2(keys_end(b, t.x), keys_end(b, t.y));
    const uint last_line = min(first_line + 32u, lines) - 1u;
    const bool wraps = last_line / queries != first_line / queries;
    const uint first_t = wraps ? 0u : first_line % queries, firsts = first_keys(b), first_begin = keys_begin(b, first_t);
    const uint last_end = all_keys_end(b, first_t, wraps ? queries - 1u : last_line % queries);
    const uvec2 at = uvec2(high, high + 16u) * 33u + low; // of this invocation's scores in `share`: at, at + 8, ...

    vec2 greatest = vec2(first_greatest(head.x), first_greatest(head.y)), total = vec2(first_total());
    vec4 sum0[SLICES], sum1[SLICES];
    [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum0[s] = sum1[s] = vec4(0.0);

    for (uint first = next_key(0u, firsts, first_begin); first < last_end;
         first = key_after(first + 32u, firsts, first_begin)) {
        vec4 score0 = vec4(0.0), score1 = vec4(0.0); // of keys low, low + 8, low + 16, low + 24
        for (uint s = 0u; s < SLICES; ++s) {
            load_lines(b, kv_head, first_line, s * 32u);
            load_keys(b, kv_head, first, last_end, s * 32u);
            barrier();
            multiply(true);
            barrier(); // which also says that the values are no longer needed
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                score0[j] += product[high * 32u + low + 8u * j];
                score1[j] += product[(high + 16u) * 32u + low + 8u * j];
            }
        }

        bvec4 kept0, kept1;
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            const uint key = first + low + 8u * j;
            kept0[j] = !is_skipped(key, firsts, skipped.x) && key < end.x && is_kept(b, t.x, key);
            kept1[j] = !is_skipped(key, firsts, skipped.y) && key < end.y && is_kept(b, t.y, key);
            const float inverse = inverse_of(scales[k_scales() + key_at(b, kv_head, min(key, last_end - 1u))]);
            precise const vec2 small_first = vec2(score0[j], score1[j]) * min(q_inverse, vec2(inverse)); // no overflow
            precise const vec2 scaled = small_first * max(q_inverse, vec2(inverse)) * scale;
            if (kept0[j]) score0[j] = score_of(scaled.x, b, head.x, t.x, key);
            if (kept1[j]) score1[j] = score_of(scaled.y, b, head.y, t.y, key);
            share[at.x + 8u * j] = kept0[j] ? score0[j] : HIDDEN;
            share[at.y + 8u * j] = kept1[j] ? score1[j] : HIDDEN;
        }
        barrier();
        if (lane < 32u) {
            const float v_scale = scales[v_scales() + key_at(b, kv_head, min(first + lane, last_end - 1u))];
            inverse_scale[lane] = v_scale == SCALE_OF_INFINITY ? WILD : inverse_of(v_scale);
        }
        vec2 peak = greatest;
        for (uint j = 0u; j < 32u; ++j) peak = max(peak, vec2(share[high * 33u + j], share[(high + 16u) * 33u + j]));
        barrier();
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            share[at.x + 8u * j] = kept0[j] ? exp(score0[j] - peak.x) : HIDDEN;
            share[at.y + 8u * j] = kept1[j] ? exp(score1[j] - peak.y) : HIDDEN;
        }
        barrier();
        const vec2 shrink = exp(greatest - peak);
        greatest = peak;
        vec2 added = vec2(0.0);
        vec2 most = vec2(0.0); // the greatest share of a line, after the scales of V are divided out
        bool any_wild = false;
        for (uint j = 0u; j < 32u; ++j) {
            const vec2 p = vec2(share[high * 33u + j], share[(high + 16u) * 33u + j]);
            const vec2 counted = mix(p, vec2(0.0), lessThan(p, vec2(0.0)));
            added += counted;
            most = max(most, counted * inverse_scale[j]);
            any_wild = any_wild || inverse_scale[j] == WILD;
        }
        total = total * shrink + added;
        const vec2 line_scale = vec2(scale_for(floatBitsToUint(most.x)), scale_for(floatBitsToUint(most.y)));
        const vec2 line_inverse = vec2(inverse_of(line_scale.x), inverse_of(line_scale.y));
        { // keys 4 low to 4 low + 3 of this invocation's lines
            vec4 p0, p1;
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                const float taken_back = inverse_scale[low * 4u + j];
                const vec2 p = vec2(share[high * 33u + low * 4u + j], share[(high + 16u) * 33u + low * 4u + j]);
                p0[j] = p.x < 0.0 ? 0.0 : p.x * taken_back * line_scale.x;
                p1[j] = p.y < 0.0 ? 0.0 : p.y * taken_back * line_scale.y;
            }
            put_a(p0, high * LINE + low);
            put_a(p1, (high + 16u) * LINE + low);
        }

        for (uint s = 0u; s < SLICES; ++s) { // no unroll hint: software drivers would compile for minutes
            load_values(b, kv_head, first, last_end, s * 32u);
            barrier();
            multiply(false);
            barrier();
            sum0[s] *= shrink.x;
            sum1[s] *= shrink.y;
            [[unroll]] for (uint i = 0u; i < 4u; ++i) {
                sum0[s][i] += product[high * 32u + low * 4u + i] * line_inverse.x;
                sum1[s][i] += product[(high + 16u) * 32u + low * 4u + i] * line_inverse.y;
            }
            if (!any_wild) continue;
            for (uint j = 0u; j < 32u; ++j) {
                if (inverse_scale[j] != WILD) continue;
                const uint v_at = key_at(b, kv_head, min(first + j, last_end - 1u)) * head_dim;
                const float p0 = share[high * 33u + j], p1 = share[(high + 16u) * 33u + j];
                for (uint i = 0u; i < 4u; ++i) {
                    const float value = v(v_at + min(s * 32u + low * 4u + i, head_dim - 1u));
                    if (!(p0 < 0.0)) sum0[s][i] += p0 * value;
                    if (!(p1 < 0.0)) sum1[s][i] += p1 * value;
                }
            }
        }
    }

    const vec2 norm = mix(1.0 / total, vec2(0.0), equal(total, vec2(0.0)));
    [[unroll]] for (uint s = 0u; s < SLICES; ++s)
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            const uint c = s * 32u + low * 4u + i;
            if (c >= head_dim) continue;
            if (first_line + high < lines) o[q_row.x * head_dim + c] = sum0[s][i] * norm.x;
            if (first_line + high + 16u < lines) o[q_row.y * head_dim + c] = sum1[s][i] * norm.y;
        }
}
