// Activation: y = scale * activation(x / scale), value by value.
//
// x, y: any shape, size values in all.
// Dispatch: one invocation per value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/activation.glsl"
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 0) const uint ACTIVATION = LAMINA_RELU;

layout(push_constant) uniform Push {
    uint size;
    float scale;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    const uint i = workgroup_number() * 64u + gl_LocalInvocationID.x;
    if (i >= size) return;
    const float v = x[i] / scale;
    // Beyond +-100, all of them but tanh are exactly 0 on the left and x on the right. At the infinities their formulas
    // would compute 0 times infinity.
    const bool far = ACTIVATION != LAMINA_TANH && abs(v) > 100.0;
    y[i] = far ? max(x[i], 0.0) : scale * activate(ACTIVATION, v);
}
