// A kernel for the tests of shared memory: the size of its array is an element of a computed vector.
#version 450

layout(local_size_x = 1) in;
layout(constant_id = 0) const uint N = 4u;
const uvec2 twice = uvec2(N, N) * 2u;

layout(std430, set = 0, binding = 0) buffer Y { float y[]; };

shared float some[twice.x];

void main() {
    some[0] = y[0];
    y[1] = some[0];
}
