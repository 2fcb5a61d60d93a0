// The power spectrum of each frame: |sum over n of sample[n] * window[n] * exp(-2 pi i n bin / n_fft)|^2. Frames are
// centred at multiples of `hop`. Beyond its ends the sound is mirrored.
//
// samples (B, length); window (n_fft); turn (n_fft), cosine and sine of n / n_fft turns; power (B frames, bins).
// Dispatch: a workgroup of 64 computes 8 frames x 64 bins, each invocation one bin of all 8. Windowed samples go
// through shared memory, 64 of each frame at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint rows; // B frames
    uint frames;
    uint length;
    uint hop;
    uint n_fft;
    uint bins;
};
layout(std430, set = 0, binding = 0) readonly buffer Samples { float samples[]; };
layout(std430, set = 0, binding = 1) readonly buffer Window { float window[]; };
layout(std430, set = 0, binding = 2) readonly buffer Turn { vec2 turn[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Power { float power[]; };

shared float windowed[8][64];

float sample_of(uint row, uint i) {
    const int at = int(row % frames * hop + i) - int(n_fft / 2u), last = int(length) - 1;
    const int mirrored = at < 0 ? -at : at > last ? 2 * last - at : at;
    return samples[row / frames * length + uint(mirrored)] * window[i];
}

void main() {
    const uint slices = (bins + 63u) / 64u, n = workgroup_number();
    const uint first_row = n / slices * 8u;
    if (first_row >= rows) return; // the same for the whole workgroup
    const uint lane = gl_LocalInvocationID.x;
    const uint bin = n % slices * 64u + lane;

    float re[8], im[8];
    [[unroll]] for (uint r = 0u; r < 8u; ++r) re[r] = im[r] = 0.0;
    uint phase = 0u; // i * bin, whole turns dropped
    const uint step = bin % n_fft;
    for (uint first = 0u; first < n_fft; first += 64u) {
        barrier(); // the previous samples are no longer needed
        for (uint r = 0u; r < 8u; ++r) {
            const uint i = first + lane;
            windowed[r][lane] = i < n_fft ? sample_of(min(first_row + r, rows - 1u), i) : 0.0;
        }
        barrier();
        for (uint i = 0u; i < min(64u, n_fft - first); ++i) {
            const vec2 t = turn[phase];
            [[unroll]] for (uint r = 0u; r < 8u; ++r) {
                re[r] += windowed[r][i] * t.x;
                im[r] += windowed[r][i] * t.y;
            }
            phase += step;
            if (phase >= n_fft) phase -= n_fft;
        }
    }
    if (bin >= bins) return;
    [[unroll]] for (uint r = 0u; r < 8u; ++r)
        if (first_row + r < rows) power[(first_row + r) * bins + bin] = re[r] * re[r] + im[r] * im[r];
}
