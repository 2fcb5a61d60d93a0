// The gated delta rule, token by token. In every head, with a memory M of key_dim rows:
//
//     M = fade * M;  M = M + key (outer) write * (value - key * M);  y = query * M / sqrt(key_dim)
//
// where fade = exp(-exp(log_rate) * softplus(fading + offset)), write = sigmoid(writing), and queries and keys have the
// length 1. The columns of M do not depend on each other. y is computed from M as it was, so that a token needs a single
// exchange between invocations: query * M_new = fade * query * M + (query * key) * correction.
//
// x (sequences, steps, queries | keys | values); fading, writing (sequences, steps, heads); position, lengths
// (sequences); memory (sequences, heads, key_dim, value_dim); y (sequences, steps, heads, value_dim).
// Dispatch: one workgroup per 16 columns of a memory. Of each column, 8 invocations have every eighth row in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/activation.glsl"
#include "common/softplus.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

const uint COLUMNS = 16u, LANES = 8u, INVOCATIONS = 128u;
layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
    uint sequences;
    uint steps;
    uint heads;
    uint key_heads;
    uint key_dim;
    uint value_dim;
    float eps;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Fading { float fading[]; };
layout(std430, set = 0, binding = 2) readonly buffer Writing { float writing[]; };
layout(std430, set = 0, binding = 3) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 4) readonly buffer Lengths { int lengths[]; };
WEIGHT(log_rate, 5, 0)
WEIGHT(offset, 6, 1)
layout(std430, set = 0, binding = 7) buffer Memory { float memory[]; };
layout(std430, set = 0, binding = 8) writeonly buffer Y { float y[]; };
layout(constant_id = 2) const bool HAS_MEMORY = false; // else it is only written
layout(constant_id = 3) const bool HAS_LENGTHS = false;
layout(constant_id = 4) const bool TILED = false;
layout(constant_id = 5) const uint ROWS = 32u; // of an invocation; the default is the most

const uint LONGEST = 256u;                  // key_dim
shared float staged[2 * 2 * LONGEST];       // of two tokens: query, key
shared float products[2 * 2 * INVOCATIONS]; // of two tokens: query * M, key * M; of the rows of an invocation
shared float lengths_of[2 * 3 * LANES];     // of two tokens: query * query, key * key, query * key; likewise

// Where the row of a token begins.
uint row_of(uint sequence, uint t) { return (sequence * steps + t) * (2u * key_heads * key_dim + heads * value_dim); }

void stage(uint row, uint key_head, uint place) {
    for (uint i = gl_LocalInvocationID.x; i < 2u * key_dim; i += INVOCATIONS) {
        const uint key = i < key_dim ? 0u : 1u, c = i - key * key_dim;
        staged[(place * 2u + key) * LONGEST + c] = x[row + (key * key_heads + key_head) * key_dim + c];
    }
}

void main() {
    const uint tiles = (value_dim + COLUMNS - 1u) / COLUMNS, number = workgroup_number();
    if (number >= sequences * heads * tiles) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, lane = id / COLUMNS;
    const uint head = number / tiles % heads, sequence = number / tiles / heads;
    const uint column = number % tiles * COLUMNS + id % COLUMNS;
    const uint key_head = TILED ? head % key_heads : head / (heads / key_heads);
    const bool inside = column < value_dim;
    const uint first = ((sequence * heads + head) * key_dim + lane) * value_dim + column; // of M
    const uint count = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    const bool begun = HAS_MEMORY && position[sequence] > 0;
    const float rate = exp(log_rate(head)), of_head = offset(head), scale = inversesqrt(float(key_dim));

    float m[ROWS], key[ROWS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        m[r] = begun && inside && r * LANES + lane < key_dim ? memory[first + r * LANES * value_dim] : 0.0;
        key[r] = 0.0;
    }
    if (count > 0u) stage(row_of(sequence, 0u), key_head, 0u);
    barrier();
    for (uint t = 0u; t < count; ++t) {
        const uint place = t % 2u, row = row_of(sequence, t), gate = (sequence * steps + t) * heads + head;
        if (t + 1u < count) stage(row_of(sequence, t + 1u), key_head, 1u - place);
        const float value = inside ? x[row + 2u * key_heads * key_dim + head * value_dim + column] : 0.0;
        const float fade = exp(-rate * softplus(fading[gate] + of_head)), share = times_sigmoid(1.0, writing[gate]);
        float qm = 0.0, km = 0.0, qq = 0.0, kk = 0.0, qk = 0.0;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            const uint i = r * LANES + lane;
            const float q = i < key_dim ? staged[place * 2u * LONGEST + i] : 0.0;
            key[r] = i < key_dim ? staged[(place * 2u + 1u) * LONGEST + i] : 0.0;
            qm += q * m[r];
            km += key[r] * m[r];
            qq += q * q;
            kk += key[r] * key[r];
            qk += q * key[r];
        }
        products[(place * 2u) * INVOCATIONS + id] = qm;
        products[(place * 2u + 1u) * INVOCATIONS + id] = km;
        if (id % COLUMNS == 0u) {
            lengths_of[(place * 3u) * LANES + lane] = qq;
            lengths_of[(place * 3u + 1u) * LANES + lane] = kk;
            lengths_of[(place * 3u + 2u) * LANES + lane] = qk;
        }
        barrier(); // one for each token, as two of them take turns in shared memory
        qm = km = qq = kk = qk = 0.0;
        for (uint l = 0u; l < LANES; ++l) {
            qm += products[(place * 2u) * INVOCATIONS + l * COLUMNS + id % COLUMNS];
            km += products[(place * 2u + 1u) * INVOCATIONS + l * COLUMNS + id % COLUMNS];
            qq += lengths_of[(place * 3u) * LANES + l];
            kk += lengths_of[(place * 3u + 1u) * LANES + l];
            qk += lengths_of[(place * 3u + 2u) * LANES + l];
        }
        const float of_query = inversesqrt(qq + eps) * scale, of_key = inversesqrt(kk + eps);
        const float correction = share * (value - fade * of_key * km);
        if (lane == 0u && inside)
            y[((sequence * steps + t) * heads + head) * value_dim + column] =
                of_query * (fade * qm + of_key * qk * correction);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) m[r] = fade * m[r] + of_key * key[r] * correction;
    }
    if (!inside) return;
    for (uint t = count + lane; t < steps; t += LANES) y[((sequence * steps + t) * heads + head) * value_dim + column] = 0.0;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        if (r * LANES + lane < key_dim) memory[first + r * LANES * value_dim] = m[r];
}
