// Activation: y = scale * activation(x / scale) * times * factor, value by value.
//
// x, times, y: any shape, size values in all. Times may be left out.
// Dispatch: a workgroup of 64 per 256 values. The four loads of an invocation are on their way at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/activation.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 0) const uint ACTIVATION = LAMINA_RELU;

layout(push_constant) uniform Push {
    uint size;
    float scale;
    float factor;
    float low; // of clamp
    float high;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(constant_id = 1) const bool HAS_TIMES = false;
layout(std430, set = 0, binding = 1) readonly buffer Times { float times[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

// Which only this layer has.
const uint LOG1P_RELU = LAMINA_LAST_ACTIVATION + 1u, CLAMP = LAMINA_LAST_ACTIVATION + 2u;

// log(1 + v) for v >= 0, to a few 1e-7 of it: GLSL's log() is not exact enough near 1, where a series of artanh is.
float log1p(float v) {
    if (v > 1.0) return log(1.0 + v);
    const float s = v / (2.0 + v), q = s * s;
    return 2.0 * s * (1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q / 13.0))))));
}

float activated(float of) {
    const float v = of / scale;
    // Beyond +-100, all but these are exactly 0 on the left and x on the right. At the infinities their formulas would
    // compute 0 times infinity.
    const bool others = ACTIVATION == LAMINA_TANH || ACTIVATION == LAMINA_SIGMOID || ACTIVATION == LAMINA_RELU2;
    if (ACTIVATION == LAMINA_NONE) return of;
    if (ACTIVATION == LOG1P_RELU) return scale * (v < 0.0 ? 0.0 : log1p(v));
    if (ACTIVATION == CLAMP) // unlike clamp(), keeps a NaN
        return of > scale * high ? scale * high : of < scale * low ? scale * low : of;
    const bool far = !others && abs(v) > 100.0;
    return far ? max(of, 0.0) : scale * activate(ACTIVATION, v);
}

void main() {
    const uint first = workgroup_number() * 256u + gl_LocalInvocationID.x;
    if (first + 192u < size) {
        float v[4], by[4];
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            v[i] = x[first + i * 64u];
            by[i] = HAS_TIMES ? times[first + i * 64u] * factor : factor;
        }
        [[unroll]] for (uint i = 0u; i < 4u; ++i) y[first + i * 64u] = activated(v[i]) * by[i];
    } else {
        for (uint i = first; i < size; i += 64u) y[i] = activated(x[i]) * (HAS_TIMES ? times[i] * factor : factor);
    }
}
