// The results of RWKV-7's memories: y = (layer_norm(recalled) * weight + bias + (query * key * bonus) * value) * gate,
// in each head of each token; 0 for tokens that do not count.
//
// query, key, rate (sequences, steps, heads, key_dim); value, gate, first_value, first_share, recalled, y (sequences,
// steps, heads, value_dim); lengths (sequences); key_rate, bonus (heads, key_dim); weight, bias (heads, value_dim).
// Dispatch: one workgroup per head of a token. Values are shifted by the first one, as in layer_norm.comp.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"
#include "common/workgroup_sum.glsl"
#include "wkv7/token.glsl"

layout(local_size_x = 64) in;
WKV7_PUSH
layout(std430, set = 0, binding = 0) readonly buffer Query { float query[]; };
layout(std430, set = 0, binding = 1) readonly buffer Key { float key[]; };
layout(std430, set = 0, binding = 2) readonly buffer Value { float value[]; };
layout(std430, set = 0, binding = 3) readonly buffer Rate { float rate[]; };
layout(std430, set = 0, binding = 4) readonly buffer Gate { float gate[]; };
layout(std430, set = 0, binding = 5) readonly buffer FirstValue { float first_value[]; };
layout(std430, set = 0, binding = 6) readonly buffer FirstShare { float first_share[]; };
layout(std430, set = 0, binding = 7) readonly buffer Lengths { int lengths[]; };
WEIGHT(key_rate, 8, 0)
WEIGHT(bonus, 9, 3)
WEIGHT(weight, 10, 4)
WEIGHT(bias, 11, 5)
layout(std430, set = 0, binding = 12) readonly buffer Recalled { float recalled[]; };
layout(std430, set = 0, binding = 13) writeonly buffer Y { float y[]; };
layout(constant_id = 1) const bool MIXES = false;
layout(constant_id = 2) const bool HAS_LENGTHS = false;

void main() {
    const uint number = workgroup_number();
    if (number >= sequences * steps * heads) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x, head = number % heads, token = number / heads;
    const uint base = number * value_dim, keys = number * key_dim;
    if (HAS_LENGTHS && token % steps >= uint(lengths[token / steps])) { // likewise
        for (uint c = lane; c < value_dim; c += 64u) y[base + c] = 0.0;
        return;
    }

    float sum = 0.0;
    for (uint i = lane; i < key_dim; i += 64u) {
        const float written = written_key(key[keys + i], sigmoid(rate[keys + i]), key_rate(head * key_dim + i));
        sum += query[keys + i] * written * bonus(head * key_dim + i);
    }
    const float own = workgroup_sum(sum, 0u), shift = recalled[base];
    sum = 0.0;
    for (uint c = lane; c < value_dim; c += 64u) sum += recalled[base + c] - shift;
    const float mean = workgroup_sum(sum, 1u) / float(value_dim); // of recalled - shift
    float square = 0.0;
    for (uint c = lane; c < value_dim; c += 64u) {
        const float d = (recalled[base + c] - shift) - mean;
        square += d * d;
    }
    const float scale = inversesqrt(workgroup_sum(square, 0u) / float(value_dim) + eps);
    for (uint c = lane; c < value_dim; c += 64u) {
        const float normal = ((recalled[base + c] - shift) - mean) * scale;
        float v = value[base + c];
        if (MIXES) v = mixed(v, first_value[base + c], first_share[base + c]);
        const float scaled = normal * weight(head * value_dim + c) + bias(head * value_dim + c);
        y[base + c] = (scaled + own * v) * gate[base + c];
    }
}
