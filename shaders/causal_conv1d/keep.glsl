// The state after this call. Include it after steps.glsl, with LENGTHS, its binding, defined.
layout(std430, set = 0, binding = LENGTHS) readonly buffer Lengths { int lengths[]; }; // (batch), or left out
layout(constant_id = 1) const bool HAS_LENGTHS = false;

// Of one channel of a sequence. Every value is read before its place is written.
void keep(uint b, uint c) {
    const int kept = int(WIDTH) - 1, taken = HAS_LENGTHS ? lengths[b] : int(steps);
    for (int k = 0; k < kept; ++k) before[uint(int(b) * kept + k) * channels + c] = step_at(b, taken + k - kept, c);
}
