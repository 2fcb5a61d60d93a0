// Converts f32 to f16 in integer arithmetic, to the nearest, ties to even. This needs no 16-bit device feature and is
// the same on every device. lamina::plugin::narrow_f16() in <lamina/plugin/dtype.hpp> does the same.

#ifndef LAMINA_HALF_GLSL
#define LAMINA_HALF_GLSL

// Drops the lowest `count` bits, at least one.
uint round_off(uint value, uint count) { return (value + (1u << (count - 1u)) - 1u + (value >> count & 1u)) >> count; }

// The bits of the half nearest to a float.
uint narrow_f16(uint bits) {
    const uint sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;  // NaN
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u; // rounds beyond 65504
    if (magnitude >= 0x38800000u) return sign | round_off(magnitude - (112u << 23), 13u); // exponent bias: 127 to 15
    if (magnitude < 0x33000000u) return sign;            // less than half of the smallest subnormal, 2^-24
    return sign | round_off((magnitude & 0x007fffffu) | 0x00800000u, 126u - (magnitude >> 23));
}

#endif
