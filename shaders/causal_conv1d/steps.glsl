// The steps of every channel: those of earlier calls, which are in the state, then those of this one. Include it after
// BEFORE, how the kernel uses the state, and HAS_BEFORE, whether there is one, are defined.
//
// x (batch, steps, channels); position (batch); before (batch, WIDTH - 1, channels), nothing where position is 0.
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint batch;
    uint steps;
    uint channels;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) BEFORE buffer Before { float before[]; };
layout(constant_id = 0) const uint WIDTH = 4u; // K

// Step t of a sequence; 0 is the first one of x, and WIDTH - 1 steps are before it.
float step_at(uint b, int t, uint c) {
    if (t >= 0) return x[(b * steps + uint(t)) * channels + c];
    const int kept = int(WIDTH) - 1;
    return HAS_BEFORE && position[b] > 0 ? before[uint(int(b) * kept + kept + t) * channels + c] : 0.0;
}
