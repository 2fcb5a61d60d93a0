// y = x * factor + bias. Dispatch: one invocation per element.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint n;
    float factor;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < n) y[i] = x[i] * factor + bias[0];
}
