// The selective scan of Mamba and Mamba-2, token by token. In every head, with a state H of state_dim rows:
//
//     H = fade * H + key (outer) (moved * value);  y = query * H + skip * value
//
// where moved = clamp(softplus(step + offset)) and fade = exp(-exp(log_rate) * moved), which is 1 + lost; each row of H may
// have a rate of its own. The columns of H do not depend on each other, and no token needs the result of another:
// invocations exchange their sums once for several tokens.
//
// x (sequences, steps, values | keys | queries); step (sequences, steps, heads); position, lengths (sequences); state
// (sequences, heads, state_dim, value_dim); y (sequences, steps, heads, value_dim).
// Dispatch: one workgroup per 16 columns of the states that share keys. Of each column, 8 invocations have every eighth row in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/expm1.glsl"
#include "common/softplus.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

const uint COLUMNS = 16u, LANES = 8u, INVOCATIONS = 128u;
layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
    uint sequences;
    uint steps;
    uint heads;
    uint groups;
    uint state_dim;
    uint value_dim;
    float min_step;
    float max_step;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Step { float step_of[]; };
layout(std430, set = 0, binding = 2) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 3) readonly buffer Lengths { int lengths[]; };
WEIGHT(log_rate, 4, 0)
WEIGHT(offset, 5, 1)
WEIGHT(skip, 6, 2)
layout(std430, set = 0, binding = 7) buffer State { float state[]; };
layout(std430, set = 0, binding = 8) writeonly buffer Y { float y[]; };
layout(constant_id = 3) const bool HAS_STATE = false; // else it is only written
layout(constant_id = 4) const bool HAS_LENGTHS = false;
layout(constant_id = 5) const uint ROWS = 32u; // of an invocation; the default is the most
layout(constant_id = 6) const bool HAS_RATES = false; // of the rows of a state

const uint TOGETHER = 4u;                      // tokens
const uint PADDED = ROWS * LANES;              // of state_dim
shared float staged[TOGETHER * 2u * PADDED];   // their keys and queries, with zeros after them
shared float products[TOGETHER * INVOCATIONS]; // query * H, of the rows of an invocation

// Where the values of a token begin, which its keys and then its queries follow.
uint values_of(uint sequence, uint t) { return (sequence * steps + t) * (heads * value_dim + 2u * groups * state_dim); }

void stage(uint sequence, uint first, uint count, uint group) {
    for (uint i = gl_LocalInvocationID.x; i < count * 2u * PADDED; i += INVOCATIONS) {
        const uint keys = values_of(sequence, first + i / (2u * PADDED)) + heads * value_dim;
        const uint part = i / PADDED % 2u * groups + group, c = i % PADDED; // of the keys and queries of all groups
        staged[i] = c < state_dim ? x[keys + part * state_dim + c] : 0.0;
    }
}

void main() {
    const uint columns = heads / groups * value_dim; // that share keys
    const uint tiles = (columns + COLUMNS - 1u) / COLUMNS, number = workgroup_number();
    if (number >= sequences * groups * tiles) return; // the same for the whole workgroup
    const uint id = gl_LocalInvocationID.x, lane = id / COLUMNS;
    const uint group = number / tiles % groups, sequence = number / tiles / groups;
    const uint own = number % tiles * COLUMNS + id % COLUMNS;
    const bool inside = own < columns;
    const uint head = group * (heads / groups) + min(own, columns - 1u) / value_dim, column = own % value_dim;
    const uint of_value = head * value_dim + column; // from the values of a token on
    const uint first = ((sequence * heads + head) * state_dim + lane) * value_dim + column; // of H
    const uint count = HAS_LENGTHS ? uint(lengths[sequence]) : steps;
    const bool begun = HAS_STATE && position[sequence] > 0;
    const float rate = HAS_RATES ? 0.0 : exp(log_rate(head)), of_head = offset(head), skipped = skip_dtype == 0u ? 0.0 : skip(head);

    float h[ROWS], rates[ROWS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        rates[r] = HAS_RATES && r * LANES + lane < state_dim ? exp(log_rate(head * state_dim + r * LANES + lane)) : 0.0;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        h[r] = begun && inside && r * LANES + lane < state_dim ? state[first + r * LANES * value_dim] : 0.0;
    for (uint t = 0u; t < count; t += TOGETHER) {
        const uint here = min(TOGETHER, count - t);
        stage(sequence, t, here, group);
        barrier();
        for (uint s = 0u; s < here; ++s) {
            const float moved =
                clamp(softplus(step_of[(sequence * steps + t + s) * heads + head] + of_head), min_step, max_step);
            const float lost_all = expm1(-rate * moved); // not exp(): a state that hardly fades is multiplied many times
            const float value = inside ? moved * x[values_of(sequence, t + s) + of_value] : 0.0;
            float sum = 0.0;
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                const uint at = s * 2u * PADDED + r * LANES + lane;
                const float lost = HAS_RATES ? expm1(-rates[r] * moved) : lost_all;
                h[r] = h[r] + lost * h[r] + staged[at] * value;
                sum += staged[at + PADDED] * h[r];
            }
            products[s * INVOCATIONS + id] = sum;
        }
        barrier();
        // 16 invocations for each token add up its sums.
        const uint s = id / COLUMNS;
        if (s < here && inside) {
            float sum = skipped * x[values_of(sequence, t + s) + of_value];
            for (uint l = 0u; l < LANES; ++l) sum += products[s * INVOCATIONS + l * COLUMNS + id % COLUMNS];
            y[((sequence * steps + t + s) * heads + head) * value_dim + column] = sum;
        }
    }
    if (!inside) return;
    for (uint t = count + lane; t < steps; t += LANES) y[((sequence * steps + t) * heads + head) * value_dim + column] = 0.0;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        if (r * LANES + lane < state_dim) state[first + r * LANES * value_dim] = h[r];
}
