// Sines and cosines of position * frequency, with the same bits as shaders/common/sinusoid.glsl.
//
// An angle in radians loses precision as it grows: at position 10^6 a float is accurate only to 0.06. In turns, only
// the fraction matters, and in units of 2^-64 turn unsigned arithmetic drops whole turns exactly.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace positional_encoding {

static_assert(LDBL_MANT_DIG >= 64, "the inverse wavelengths need a long double of 64 bits");

// 1 / (2 pi 10000^(2i/channels)) for every pair i of channels: turns per position, in units of 2^-64 turn. Accurate to
// about one unit, so the phase at position 2^31 is accurate to 2^-32 turn.
inline std::vector<uint64_t> turns_per_position(int64_t channels) {
    std::vector<uint64_t> turns(static_cast<size_t>(channels / 2));
    for (size_t i = 0; i < turns.size(); ++i) {
        const long double exponent = static_cast<long double>(2 * i) / static_cast<long double>(channels);
        const long double wavelength = 2 * std::numbers::pi_v<long double> * std::pow(10000.0L, exponent);
        turns[i] = static_cast<uint64_t>(std::round(std::ldexp(1 / wavelength, 64)));
    }
    return turns;
}

// The phase in units of 2^-32 turn: the upper half of the product, without whole turns.
inline uint32_t phase(uint32_t position, uint64_t turns) { return static_cast<uint32_t>((position * turns) >> 32); }

struct SineCosine {
    float sine, cosine;
};

// Sine and cosine of a phase in units of 2^-32 turn, to 1e-7. Each line is the same as in the shader, with one rounding
// for each + and *.
inline SineCosine sine_cosine(uint32_t phase) {
    const uint32_t p = (phase + 16u) >> 5;           // 2^27 per turn: a float holds an eighth of a turn exactly
    const uint32_t quarter = (p + (1u << 24)) >> 25; // the nearest multiple of a quarter turn, 0 to 4
    const float t = static_cast<float>(static_cast<int32_t>(p - (quarter << 25))) * 5.9604644775390625e-8f;
    const float u = t * t; // t in eighths of a turn from there, -1 to 1
    const float s = t * (0.785398126f + u * (-0.0807451382f + u * (0.00248939241f + u * -3.55940028e-05f)));
    const float c = 1.0f + u * (-0.308425128f + u * (0.0158542823f + u * (-0.000325863133f + u * 3.49026232e-06f)));
    const float sine = (quarter & 1u) != 0u ? c : s;
    const float cosine = (quarter & 1u) != 0u ? s : c;
    return {(quarter & 2u) != 0u ? -sine : sine, ((quarter + 1u) & 2u) != 0u ? -cosine : cosine};
}

} // namespace positional_encoding
