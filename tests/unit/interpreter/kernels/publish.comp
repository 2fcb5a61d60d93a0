// An invocation publishes a value in a buffer for the others of its workgroup. Without ORDERED nothing orders the two.
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const bool ORDERED = true;
layout(std430, set = 0, binding = 0) buffer Y { uint y[]; };

void main() {
    const uint i = gl_LocalInvocationID.x;
    if (i == 5u) y[64] = 7u;
    if (ORDERED) memoryBarrierBuffer();
    barrier();
    y[i] = y[64];
}
