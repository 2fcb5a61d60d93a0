// Takes the chunks of a sequence one after the other, in 16 columns of a memory: see chunk.glsl.
//
// Before including this file, define CHUNK_ADDS, CHUNK_CORRECTS, CHUNK_FADED(value, fade), what is left of a value of M;
// and what a workgroup needs to know: `sequences`, `steps`, `heads`, `key_dim`, `value_dim`, the arrays `position`,
// `lengths`, `memory` (sequences, heads, key_dim, value_dim), the vectors `chunks`, the constants HAS_MEMORY and
// HAS_LENGTHS, and the functions chunk_value(sequence, t, head, column) and chunk_write(sequence, t, head, column, y).
// Dispatch: one workgroup of 64 per 16 columns. An invocation has four columns: of one token in products with M, and of
// every sixteenth row of M when it changes.
#include "common/chunk.glsl"

shared vec4 memory_tile[CHUNK_DIM * 4u];
shared vec4 values_tile[CHUNK * 4u];
shared vec4 corrections[CHUNK * 4u];

vec4 chunk_values(uint sequence, uint t, uint head, uint column) {
    vec4 values = vec4(0.0);
    [[unroll]] for (uint c = 0u; c < 4u; ++c)
        if (column + c < value_dim) values[c] = chunk_value(sequence, t, head, column + c);
    return values;
}

void main() {
    const uint tiles = (value_dim + 15u) / 16u, number = workgroup_number();
    if (number >= sequences * heads * tiles) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, lane = id / 4u, quad = id % 4u;
    const uint head = number / tiles % heads, sequence = number / tiles / heads;
    const uint column = number % tiles * 16u + quad * 4u;
    const uint first = (sequence * heads + head) * key_dim * value_dim + column; // of M
    const uint count = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    const bool begun = HAS_MEMORY && position[sequence] > 0;

    vec4 m[CHUNK_ROWS];
    [[unroll]] for (uint r = 0u; r < CHUNK_ROWS; ++r) {
        m[r] = vec4(0.0);
        const uint row = r * 16u + lane;
        if (begun && row < key_dim)
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                if (column + c < value_dim) m[r][c] = memory[first + row * value_dim + c];
        memory_tile[row * 4u + quad] = m[r];
    }
    uint chunk = (sequence * heads + head) * ((steps + CHUNK - 1u) / CHUNK) * (CHUNK_SIZE / 4u);
    for (uint t = 0u; t < count; t += CHUNK) {
        values_tile[id] = t + lane < count ? chunk_values(sequence, t + lane, head, column) : vec4(0.0);
        barrier();
        vec4 y = vec4(0.0), u = vec4(0.0);
        for (uint i = 0u; i < CHUNK_DIM / 4u; ++i) {
            const uint at = chunk + lane * (CHUNK_DIM / 4u) + i;
            const vec4 read = chunks[at + CHUNK_READ / 4u];
            const vec4 recall = CHUNK_CORRECTS == 1u ? chunks[at + CHUNK_RECALL / 4u] : vec4(0.0);
            [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                const vec4 row = memory_tile[(i * 4u + k) * 4u + quad];
                y += read[k] * row;
                if (CHUNK_CORRECTS == 1u) u += recall[k] * row;
            }
        }
        for (uint s = 0u; s <= lane / 4u; ++s) {
            const uint at = chunk + lane * (CHUNK / 4u) + s;
            const vec4 own = chunks[at + CHUNK_OWN / 4u];
            const vec4 blend = CHUNK_CORRECTS == 1u ? chunks[at + CHUNK_MIX / 4u] : vec4(0.0);
            [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                if (s * 4u + k > lane) continue; // 0 times what may be infinite
                const vec4 row = values_tile[(s * 4u + k) * 4u + quad];
                y += own[k] * row;
                if (CHUNK_CORRECTS == 1u) u += blend[k] * row;
            }
        }
        if (t + lane < count)
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                if (column + c < value_dim) chunk_write(sequence, t + lane, head, column + c, y[c]);
        if (CHUNK_CORRECTS == 1u) corrections[id] = u;
        barrier();
        [[unroll]] for (uint r = 0u; r < CHUNK_ROWS; ++r)
            m[r] = CHUNK_FADED(m[r], chunks[chunk + (CHUNK_FADE + r * 16u + lane) / 4u][lane % 4u]);
        for (uint s = 0u; s < CHUNK / 4u; ++s) {
            vec4 values[4], of_u[4];
            [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                if (CHUNK_ADDS == 1u) values[k] = values_tile[(s * 4u + k) * 4u + quad];
                if (CHUNK_CORRECTS == 1u) of_u[k] = corrections[(s * 4u + k) * 4u + quad];
            }
            [[unroll]] for (uint r = 0u; r < CHUNK_ROWS; ++r) {
                const uint at = chunk + (r * 16u + lane) * (CHUNK / 4u) + s;
                const vec4 add = CHUNK_ADDS == 1u ? chunks[at + CHUNK_ADD / 4u] : vec4(0.0);
                const vec4 correct = CHUNK_CORRECTS == 1u ? chunks[at + CHUNK_CORRECT / 4u] : vec4(0.0);
                [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                    if (CHUNK_ADDS == 1u) m[r] += add[k] * values[k];
                    if (CHUNK_CORRECTS == 1u) m[r] += correct[k] * of_u[k];
                }
            }
        }
        [[unroll]] for (uint r = 0u; r < CHUNK_ROWS; ++r) memory_tile[(r * 16u + lane) * 4u + quad] = m[r];
        barrier();
        chunk += CHUNK_SIZE / 4u;
    }
    for (uint t = count + lane; t < steps; t += 16u)
        [[unroll]] for (uint c = 0u; c < 4u; ++c)
            if (column + c < value_dim) chunk_write(sequence, t, head, column + c, 0.0);
    [[unroll]] for (uint r = 0u; r < CHUNK_ROWS; ++r) {
        const uint row = r * 16u + lane;
        if (row < key_dim)
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                if (column + c < value_dim) memory[first + row * value_dim + c] = m[r][c];
    }
}
