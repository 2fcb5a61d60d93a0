// Attention with shared memory, for GPUs. attend_registers.glsl says what it computes, keys.glsl has the shapes. A line
// is a query of one of the heads that share a key head.
//
// Dispatch: a workgroup of 128, as 16 x 8, computes one sequence, one key head and 32 lines. Keys are processed 32 at a
// time, and within them channels 32 at a time. An invocation has two lines: it computes 2 x 4 scores of each key block,
// and sums 2 x 4 of each 32 channels. Head dims up to 256.
//
// A key that a line may not attend to is marked in `share` and skipped, so its value has no effect, even if it is NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "keys.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 6) const uint SLICES = 8u; // of 32 channels in a head; at most 8

const float HIDDEN_SCORE = -3.0e38; // below LEAST
const float HIDDEN_SHARE = -1.0;

// Each line has one more than is used, which spreads lines over the memory banks. They are no arrays of arrays, of which
// compilers would leave out what is not used.
const uint LINE = 9u, SHARES = 33u;
shared vec4 q_tile[32u * LINE];   // [line][channel / 4]
shared vec4 kv_tile[32u * LINE];  // [key][channel / 4]
shared float share[32u * SHARES]; // [line][key]: scores, then their exponentials

void main() {
    const uint sharing = heads / kv_heads;
    const uint lines = sharing * queries, blocks = (lines + 31u) / 32u;
    uint n = workgroup_number();
    const uint first_line = n % blocks * 32u;
    n /= blocks;
    const uint kv_head = n % kv_heads, b = n / kv_heads;
    if (b >= batch) return; // the same for the whole workgroup

    const uint lane = gl_LocalInvocationID.x;
    const uint low = lane % 8u, high = lane / 8u, own = high * SHARES, other = own + 16u * SHARES;
    // This invocation's two lines. Lines after the last repeat it, and are not written.
    const uvec2 line = min(first_line + uvec2(high, high + 16u), uvec2(lines - 1u));
    const uvec2 head = kv_head * sharing + line / queries, t = line % queries;
    const uvec2 skipped = uvec2(skipped_keys(b, t.x), skipped_keys(b, t.y));
    const uvec2 end = uvec2(keys_end(b, t.x), keys_end(b, t.y));
    const uint last_line = min(first_line + 32u, lines) - 1u;
    const bool wraps = last_line / queries != first_line / queries;
    const uint first_t = wraps ? 0u : first_line % queries, firsts = first_keys(b), first_begin = keys_begin(b, first_t);
    const uint last_end = all_keys_end(b, first_t, wraps ? queries - 1u : last_line % queries);

    // What this invocation loads of each tile: channel lane % 32 of every fourth row.
    const uint channel = lane % 32u, first_row = lane / 32u;

    vec2 greatest = vec2(first_greatest(head.x), first_greatest(head.y)), total = vec2(first_total());
    vec4 sum0[SLICES], sum1[SLICES];
    [[unroll]] for (uint s = 0u; s < SLICES; ++s) sum0[s] = sum1[s] = vec4(0.0);

    for (uint first = next_key(0u, firsts, first_begin); first < last_end;
         first = key_after(first + 32u, firsts, first_begin)) {
        vec4 score0 = vec4(0.0), score1 = vec4(0.0); // of keys low, low + 8, low + 16, low + 24
        for (uint s = 0u; s < SLICES; ++s) {
            const uint c = s * 32u + channel;
            barrier();
            for (uint row = first_row; row < 32u; row += 4u) {
                const uint l = min(first_line + row, lines - 1u);
                const uint q_at = (query_row(b, l % queries) * heads + kv_head * sharing + l / queries) * head_dim;
                const uint k_at = (key_row(b, min(first + row, last_end - 1u)) * kv_heads + kv_head) * head_dim;
                q_tile[row * LINE + channel / 4u][channel % 4u] = c < head_dim ? q[q_at + c] * scale : 0.0;
                kv_tile[row * LINE + channel / 4u][channel % 4u] = c < head_dim ? k(k_at + c) : 0.0;
            }
            barrier();
            for (uint i = 0u; i < 8u; ++i) {
                const vec4 a0 = q_tile[high * LINE + i], a1 = q_tile[(high + 16u) * LINE + i];
                [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                    const vec4 key = kv_tile[low * LINE + i + j * 8u * LINE];
                    score0[j] += dot(a0, key);
                    score1[j] += dot(a1, key);
                }
            }
        }

        bvec4 kept0, kept1;
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            const uint key = first + low + 8u * j;
            kept0[j] = !is_skipped(key, firsts, skipped.x) && key < end.x && is_kept(b, t.x, key);
            kept1[j] = !is_skipped(key, firsts, skipped.y) && key < end.y && is_kept(b, t.y, key);
            if (kept0[j]) score0[j] = score_of(score0[j], b, head.x, t.x, key);
            if (kept1[j]) score1[j] = score_of(score1[j], b, head.y, t.y, key);
            share[own + low + 8u * j] = kept0[j] ? score0[j] : HIDDEN_SCORE;
            share[other + low + 8u * j] = kept1[j] ? score1[j] : HIDDEN_SCORE;
        }
        barrier();
        vec2 peak = greatest;
        for (uint j = 0u; j < 32u; ++j) peak = max(peak, vec2(share[own + j], share[other + j]));
        barrier();
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            share[own + low + 8u * j] = kept0[j] ? exp(score0[j] - peak.x) : HIDDEN_SHARE;
            share[other + low + 8u * j] = kept1[j] ? exp(score1[j] - peak.y) : HIDDEN_SHARE;
        }
        barrier();
        const vec2 shrink = exp(greatest - peak);
        greatest = peak;
        vec2 added = vec2(0.0);
        for (uint j = 0u; j < 32u; ++j) {
            const vec2 p = vec2(share[own + j], share[other + j]);
            added += mix(p, vec2(0.0), lessThan(p, vec2(0.0)));
        }
        total = total * shrink + added;

        [[unroll]] for (uint s = 0u; s < SLICES; ++s) {
            const uint c = s * 32u + channel;
            barrier();
            for (uint row = first_row; row < 32u; row += 4u) {
                const uint v_at = (key_row(b, min(first + row, last_end - 1u)) * kv_heads + kv_head) * head_dim;
                kv_tile[row * LINE + channel / 4u][channel % 4u] = c < head_dim ? v(v_at + c) : 0.0;
            }
            barrier();
            vec4 added0 = vec4(0.0), added1 = vec4(0.0);
            // Eight keys at a time: all 32 of every slice would be many thousands of instructions. Most often both lines
            // attend to all eight.
            [[dont_unroll]] for (uint some = 0u; some < 32u; some += 8u) {
                const uint v_at = some * LINE + low;
                vec2 p[8];
                bool all_kept = true;
                [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                    p[i] = vec2(share[own + some + i], share[other + some + i]);
                    all_kept = all_kept && !(p[i].x < 0.0) && !(p[i].y < 0.0);
                }
                if (all_kept) {
                    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                        added0 += p[i].x * kv_tile[v_at + i * LINE];
                        added1 += p[i].y * kv_tile[v_at + i * LINE];
                    }
                } else {
                    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                        if (!(p[i].x < 0.0)) added0 += p[i].x * kv_tile[v_at + i * LINE];
                        if (!(p[i].y < 0.0)) added1 += p[i].y * kv_tile[v_at + i * LINE];
                    }
                }
            }
            sum0[s] = sum0[s] * shrink.x + added0;
            sum1[s] = sum1[s] * shrink.y + added1;
        }
    }

    const vec2 norm = mix(1.0 / total, vec2(0.0), equal(total, vec2(0.0)));
    const uvec2 o_at = (uvec2(query_row(b, t.x), query_row(b, t.y)) * heads + head) * head_dim;
    [[unroll]] for (uint s = 0u; s < SLICES; ++s)
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            const uint c = s * 32u + low * 4u + i;
            if (c >= head_dim) continue;
            if (first_line + high < lines) o[o_at.x + c] = sum0[s][i] * norm.x;
            if (first_line + high + 16u < lines) o[o_at.y + c] = sum1[s][i] * norm.y;
        }
}
