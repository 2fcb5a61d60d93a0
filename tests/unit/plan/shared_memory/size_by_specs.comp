// A kernel for the tests of shared memory, whose size depends on specialization constants.
#version 450

layout(local_size_x_id = 2) in;
layout(constant_id = 0) const uint N = 4u;
layout(constant_id = 1) const bool wide = false;
layout(constant_id = 3) const int M = -7;

layout(std430, set = 0, binding = 0) buffer Y { float y[]; };

shared float plain[N];                             // 4 N
shared float odd[N * 2u + 1u];                     // 4 (2 N + 1)
shared vec3 chosen[wide ? (N << 2u) / 3u : N % 3u]; // 16 an element
shared float per_invocation[gl_WorkGroupSize.x];   // 4 of each
shared float at_least[M < 2 ? 2 : M - 1][3];       // 12 an element

void main() {
    const uint i = gl_LocalInvocationID.x;
    plain[i % N] = odd[i] = per_invocation[i] = at_least[i % 2u][2] = y[i];
    chosen[0] = vec3(y[i]);
    barrier();
    y[i] = plain[0] + odd[0] + per_invocation[0] + at_least[0][0] + chosen[0].x;
}
