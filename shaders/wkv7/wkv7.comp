// What RWKV-7 recalls from its memories, token by token. In every head, with a memory M of key_dim rows:
//
//     M = fade * M - (rate * old) (outer) (old * M) + key (outer) value;  y = query * M
//
// where the rows of M fade by factors of their own, `old` is a key of the length 1, and `old * M`, what the memory has
// for it, is of M before the token. The columns of M do not depend on each other. y is computed from M as it was, so
// that a token needs a single exchange between invocations:
//
//     query * M_new = (query * fade) * M - (query * rate * old) (old * M) + (query * key) value
//
// query, fading, key, rate (sequences, steps, heads, key_dim); value, first_value, first_share, y (sequences, steps,
// heads, value_dim); position, lengths (sequences); old_key, key_rate (heads, key_dim); memory (sequences, heads,
// key_dim, value_dim).
// Dispatch: one workgroup per 16 columns of a memory. Of each column, 8 invocations have every eighth row in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "wkv7/token.glsl"

const uint COLUMNS = 16u, LANES = 8u, INVOCATIONS = 128u;
layout(local_size_x = 128) in;
WKV7_PUSH
layout(std430, set = 0, binding = 0) readonly buffer Query { float query[]; };
layout(std430, set = 0, binding = 1) readonly buffer Fading { float fading[]; };
layout(std430, set = 0, binding = 2) readonly buffer Key { float key[]; };
layout(std430, set = 0, binding = 3) readonly buffer Value { float value[]; };
layout(std430, set = 0, binding = 4) readonly buffer Rate { float rate[]; };
layout(std430, set = 0, binding = 5) readonly buffer FirstValue { float first_value[]; };
layout(std430, set = 0, binding = 6) readonly buffer FirstShare { float first_share[]; };
layout(std430, set = 0, binding = 7) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 8) readonly buffer Lengths { int lengths[]; };
WEIGHT(old_key, 9, 3)
WEIGHT(key_rate, 10, 0)
layout(std430, set = 0, binding = 11) buffer Memory { float memory[]; };
layout(std430, set = 0, binding = 12) writeonly buffer Y { float y[]; };
layout(constant_id = 1) const bool MIXES = false;
layout(constant_id = 2) const bool HAS_LENGTHS = false;
layout(constant_id = 4) const bool HAS_MEMORY = false; // else it is only written
layout(constant_id = 5) const uint ROWS = 16u;         // of an invocation; the default is the most

const uint LONGEST = 128u; // key_dim
const uint QUERY = 0u, FADE = 1u, KEY = 2u, OLD = 3u, CORRECTED = 4u, PARTS = 5u;
shared float staged[3 * 5 * LONGEST];       // of three tokens, PARTS: of one that is taken in while the next is staged
shared float products[2 * 2 * INVOCATIONS]; // of two tokens: query * fade * M, old * M; of the rows of an invocation
shared float sums[2 * 3 * LANES];           // of two tokens: old * old, query * rate * old, query * key; likewise

// `at`: of the token's head in keys; `head`: in weights.
void stage(uint at, uint head, uint place) {
    for (uint i = gl_LocalInvocationID.x; i < key_dim; i += INVOCATIONS) {
        const float of_key = key[at + i], share = sigmoid(rate[at + i]), old = of_key * old_key(head + i);
        const uint first = place * PARTS * LONGEST + i;
        staged[first + QUERY * LONGEST] = query[at + i];
        staged[first + FADE * LONGEST] = exp(-0.60653065971263342 * sigmoid(fading[at + i])); // exp(-1/2)
        staged[first + KEY * LONGEST] = written_key(of_key, share, key_rate(head + i));
        staged[first + OLD * LONGEST] = old;
        staged[first + CORRECTED * LONGEST] = share * old;
    }
}

void main() {
    const uint tiles = (value_dim + COLUMNS - 1u) / COLUMNS, number = workgroup_number();
    if (number >= sequences * heads * tiles) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, lane = id / COLUMNS;
    const uint head = number / tiles % heads, sequence = number / tiles / heads;
    const uint column = number % tiles * COLUMNS + id % COLUMNS;
    const bool inside = column < value_dim;
    const uint first = ((sequence * heads + head) * key_dim + lane) * value_dim + column; // of M
    const uint count = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    const bool begun = HAS_MEMORY && position[sequence] > 0;

    float m[ROWS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        m[r] = begun && inside && r * LANES + lane < key_dim ? memory[first + r * LANES * value_dim] : 0.0;
    if (count > 0u) stage((sequence * steps * heads + head) * key_dim, head * key_dim, 0u);
    barrier();
    for (uint t = 0u; t < count; ++t) {
        const uint place = t % 2u, token = (sequence * steps + t) * heads + head;
        if (t + 1u < count) stage((token + heads) * key_dim, head * key_dim, (t + 1u) % 3u);
        const uint of_value = token * value_dim + column, of_staged = t % 3u * PARTS * LONGEST;
        float v = inside ? value[of_value] : 0.0;
        if (MIXES && inside) v = mixed(v, first_value[of_value], first_share[of_value]);
        float qm = 0.0, om = 0.0, oo = 0.0, qc = 0.0, qk = 0.0;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            const uint i = of_staged + r * LANES + lane;
            if (r * LANES + lane < key_dim) {
                const float q = staged[i + QUERY * LONGEST], old = staged[i + OLD * LONGEST];
                qm += q * staged[i + FADE * LONGEST] * m[r];
                om += old * m[r];
                oo += old * old;
                qc += q * staged[i + CORRECTED * LONGEST];
                qk += q * staged[i + KEY * LONGEST];
            }
        }
        products[(place * 2u) * INVOCATIONS + id] = qm;
        products[(place * 2u + 1u) * INVOCATIONS + id] = om;
        if (id % COLUMNS == 0u) {
            sums[(place * 3u) * LANES + lane] = oo;
            sums[(place * 3u + 1u) * LANES + lane] = qc;
            sums[(place * 3u + 2u) * LANES + lane] = qk;
        }
        barrier(); // one for each token, as they take turns in shared memory
        qm = om = oo = qc = qk = 0.0;
        for (uint l = 0u; l < LANES; ++l) {
            qm += products[(place * 2u) * INVOCATIONS + l * COLUMNS + id % COLUMNS];
            om += products[(place * 2u + 1u) * INVOCATIONS + l * COLUMNS + id % COLUMNS];
            oo += sums[(place * 3u) * LANES + l];
            qc += sums[(place * 3u + 1u) * LANES + l];
            qk += sums[(place * 3u + 2u) * LANES + l];
        }
        const float correction = om / (oo + key_eps); // of `old`, which has not got the length 1 here
        if (lane == 0u && inside) y[of_value] = qm - qc * correction + qk * v;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            const uint i = of_staged + r * LANES + lane;
            if (r * LANES + lane < key_dim)
                m[r] = staged[i + FADE * LONGEST] * m[r] - staged[i + CORRECTED * LONGEST] * correction +
                       staged[i + KEY * LONGEST] * v;
        }
    }
    if (!inside) return;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        if (r * LANES + lane < key_dim) memory[first + r * LANES * value_dim] = m[r];
}
