// y = the sum over the chosen experts of p * (the expert's matrix * x), where p = softmax(gate), and the first of the
// experts with the greatest gate. With one of the faults that such kernels have in the field.
//
// x (rows, C), gate and id (rows, chosen), weight (experts N, C) from row `first` on, y (rows, N), best (rows, 1).
// Dispatch: 8 invocations for each value of y, for each part of the weight; later parts add to y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/weight.glsl"
#include "common/workgroup.glsl"

const uint lanes = 8; // of a value: an invocation alone would run very long loops

layout(local_size_x = 64) in;

layout(constant_id = 1) const uint FAULT = 0;
const uint WINDOW = 1, OVERFLOW = 2, TIES = 3, MANY = 4;

layout(push_constant) uniform Push {
    uint rows;
    uint cols;
    uint outputs;
    uint chosen;
    uint first;
    uint count;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Gate { float gate[]; };
layout(std430, set = 0, binding = 2) readonly buffer Id { uint id[]; };
WEIGHT(weight, 3, 0)
layout(std430, set = 0, binding = 4) buffer Y { float y[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Best { uint best[]; };

shared float part[64];

// The first of the experts with the greatest gate.
uint greatest_of(uint row) {
    uint greatest = 0u;
    for (uint k = 1u; k < chosen; ++k) {
        const float here = gate[row * chosen + k], before = gate[row * chosen + greatest];
        if (here > before || (FAULT == TIES && here == before)) greatest = k;
    }
    return greatest;
}

void main() {
    const uint local = gl_LocalInvocationID.x, lane = local % lanes;
    const uint i = workgroup_number() * (64u / lanes) + local / lanes;
    const uint row = i / outputs, n = i % outputs;
    const bool inside = row < rows;
    const uint greatest = inside ? greatest_of(row) : 0u;
    const float shift = !inside || FAULT == OVERFLOW ? 0.0 : gate[row * chosen + greatest];
    float sum = 0.0, value = 0.0;
    for (uint k = 0u; inside && k < chosen; ++k) {
        const float share = exp(gate[row * chosen + k] - shift);
        sum += share;
        const uint expert = id[row * chosen + k], at = (FAULT == MANY ? expert & 31u : expert) * outputs + n;
        if (at < first || at >= first + count) continue;
        const uint w = (FAULT == WINDOW ? at % count : at - first) * cols;
        float product = 0.0;
        for (uint c = lane; c < cols; c += lanes) product += weight(w + c) * x[row * cols + c];
        value += share * product;
    }
    part[local] = value;
    barrier();
    if (!inside || lane != 0u) return;
    for (uint l = 1u; l < lanes; ++l) value += part[local + l];
    y[i] = (first == 0u ? 0.0 : y[i]) + value / sum;
    if (first == 0u && n == 0u) best[row] = id[row * chosen + greatest];
}
