// y = x as whole numbers. x, y (size). Dispatch: an element an invocation.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint size; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { int y[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < size) y[i] = int(x[i]);
}
