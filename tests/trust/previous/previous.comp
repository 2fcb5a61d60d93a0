// y[t] = x[t] + x[t - 1], with earlier steps in `seen`; after more than wrong_from tokens, x[t - 1] counts twice.
// x, y (B, T, C); seen (B, M, C), or M = 0. Dispatch: one invocation per element of x.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint size;
    uint T;
    uint C;
    uint M;
    uint wrong_from;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = 3) readonly buffer Seen { float seen[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= size) return;
    const uint c = i % C, t = i / C % T, b = i / C / T;
    const int at = (M != 0 ? position[b] : 0) + int(t); // of this token in its sequence
    float before = 0;
    if (t > 0)
        before = x[i - C];
    else if (at > 0 && at <= int(M))
        before = seen[(b * M + uint(at) - 1) * C + c];
    y[i] = x[i] + (at > int(wrong_from) ? 2 * before : before);
}
