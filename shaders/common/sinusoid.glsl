// Sines and cosines of position * frequency, with the same bits as plugins/positional_encoding/sinusoid.hpp.
//
// GLSL guarantees only an error of 2^-11 for sin() and cos() from -pi to pi, and nothing outside. So the phase is an
// integer number of fractions of a turn, in which whole turns drop out exactly. The sine of the rest is a polynomial in
// which every + and * rounds once: `precise` forbids fusing and reordering, and there is no fma().

// Converts radians to turns: the absolute value of a frequency below 2^56, in units of 2^-64 turn, without whole turns.
// The result is accurate to one unit, with the lower half first.
uvec2 turns_of(float radians) {
    const uvec3 turns_a_radian = uvec3(0x7f09d5f4u, 0x9391054au, 0x28be60dbu); // 1 / 2 pi in 2^-96, lowest first
    const uint bits = floatBitsToUint(radians) & 0x7fffffffu;
    if (bits < 0x00800000u) return uvec2(0u); // 0 or subnormal
    const uint mantissa = (bits & 0x007fffffu) | 0x00800000u, exponent = bits >> 23;
    uvec3 low, high;
    umulExtended(uvec3(mantissa), turns_a_radian, high, low);
    uint carry;
    const uint second = uaddCarry(high.x, low.y, carry);
    uint more;
    const uint third = uaddCarry(high.y + carry, low.z, more); // high.y has 24 bits: there is room for the carry
    const uint product[6] = uint[](low.x, second, third, high.z + more, 0u, 0u);
    // The product is in units of 2^(exponent - 150 - 96) turns.
    const uint shift = exponent < 182u ? min(182u - exponent, 127u) : 0u;
    const uint word = shift / 32u, bit = shift % 32u;
    const uvec3 words = uvec3(product[word], product[word + 1u], product[word + 2u]);
    return bit == 0u ? words.xy : words.xy >> bit | words.yz << (32u - bit);
}

// The phase in units of 2^-32 turn: the upper half of position * turns, without whole turns. `turns` is in units of
// 2^-64 turn, the lower half first.
uint phase(uint position, uvec2 turns) {
    uint carry, low;
    umulExtended(position, turns.x, carry, low);
    return position * turns.y + carry;
}

// (sine, cosine) of a phase in units of 2^-32 turn, to 1e-7.
vec2 sine_cosine(uint phase) {
    const uint p = (phase + 16u) >> 5;             // 2^27 per turn: a float holds an eighth of a turn exactly
    const uint quarter = (p + (1u << 24)) >> 25;   // the nearest multiple of a quarter turn, 0 to 4
    precise const float t = float(int(p - (quarter << 25))) * 5.9604644775390625e-8;
    precise const float u = t * t; // t in eighths of a turn from there, -1 to 1
    precise const float s = t * (0.785398126 + u * (-0.0807451382 + u * (0.00248939241 + u * -3.55940028e-05)));
    precise const float c = 1.0 + u * (-0.308425128 + u * (0.0158542823 + u * (-0.000325863133 + u * 3.49026232e-06)));
    const float sine = (quarter & 1u) != 0u ? c : s;
    const float cosine = (quarter & 1u) != 0u ? s : c;
    return vec2((quarter & 2u) != 0u ? -sine : sine, ((quarter + 1u) & 2u) != 0u ? -cosine : cosine);
}
