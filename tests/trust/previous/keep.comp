// Keeps x (B, T, C) in `seen` (B, M, C), from `position` on. Dispatch: one invocation per element of x.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint size;
    uint T;
    uint C;
    uint M;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Seen { float seen[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= size) return;
    const uint c = i % C, t = i / C % T, b = i / C / T;
    const int at = position[b] + int(t);
    if (at < int(M)) seen[(b * M + uint(at)) * C + c] = x[i];
}
