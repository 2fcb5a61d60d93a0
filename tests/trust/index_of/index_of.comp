// y = x as integers. x, y (size). Dispatch: one invocation per element.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint size; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { int y[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < size) y[i] = int(x[i]);
}
