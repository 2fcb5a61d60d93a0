// y = 2 x, elementwise, with one careless mistake. Dispatch: one invocation per element.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint size;
    uint fault;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Y { float y[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= size) return;
    const float right = 2.0 * x[i];
    switch (fault) {
    case 1: y[i] = max(y[i], right); break;
    case 2: y[i] = min(right, y[i]); break;
    case 3: y[i] += right; break;
    case 4: y[i] = i + 1 == size ? right + x[size] : right; break;
    default: y[i] = right;
    }
}
