// A kernel for the runtime's own tests, in three phases that each read what the one before wrote:
// product = x * factor (scratch), sum += product (state), y = sum (output). All of n floats; factor has four.
// Dispatch: one invocation per element, one dispatch per phase.
#version 450

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint phase = 0u;

layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Factor { float factor[]; };
layout(std430, set = 0, binding = 2) buffer Product { float product[]; };
layout(std430, set = 0, binding = 3) buffer Sum { float sum[]; };
layout(std430, set = 0, binding = 4) writeonly buffer Y { float y[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    if (phase == 0u) product[i] = x[i] * factor[i & 3u];
    else if (phase == 1u) sum[i] += product[i];
    else y[i] = sum[i];
}
