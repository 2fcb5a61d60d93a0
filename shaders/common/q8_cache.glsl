// Writes values into a cache of q8_0, as lamina::plugin::put_q8_0() in <lamina/plugin/q8_cache.hpp> does, bit for bit on
// every device: 32 values share a scale, an f16 number, and each is the nearest whole number of scales.
//
// PUT_Q8_BLOCKS(cache, to, value, from) writes two blocks, of value(from) to value(from + 63), to the 17 words of
// `cache` from `to` on. So no two invocations write to the same word.

#ifndef LAMINA_Q8_CACHE_GLSL
#define LAMINA_Q8_CACHE_GLSL

#include "common/half.glsl"

// The bits of the scale of 32 values, of which the greatest has these bits, without its sign.
uint q8_scale(uint greatest) {
    return narrow_f16(floatBitsToUint(uintBitsToFloat(greatest) * uintBitsToFloat(0x3c010204u))); // 1 / 127
}

// A value as a signed byte. A quotient may be rounded one way or the other; products of a few bits are exact.
uint q8_byte(float x, uint scale_bits) {
    if (scale_bits == 0u || scale_bits >= 0x7c00u) return 0u; // zero, infinite or NaN
    const float scale = unpackHalf2x16(scale_bits).x, size = abs(x);
    float q = floor(size / scale + 0.5);
    if (size < (q - 0.5) * scale) q -= 1.0;
    else if (size >= (q + 0.5) * scale) q += 1.0;
    const int steps = int(min(q, 127.0));
    return uint(x < 0.0 ? -steps : steps) & 255u;
}

#define PUT_Q8_BLOCKS(cache, to, value, from)                                                                          \
    {                                                                                                                  \
        uint waiting = 0u; /* the upper half of the word before, as the lower one of the next */                       \
        for (uint block = 0u; block < 2u; ++block) {                                                                   \
            const uint first = (from) + block * 32u, at = (to) + block * 9u;                                           \
            uint greatest = 0u;                                                                                        \
            for (uint i = 0u; i < 32u; ++i)                                                                            \
                greatest = max(greatest, floatBitsToUint(value(first + i)) & 0x7fffffffu);                             \
            const uint scale_bits = q8_scale(greatest);                                                                \
            if (block == 0u) waiting = scale_bits;                                                                     \
            else cache[at - 1u] = waiting | scale_bits << 16;                                                          \
            for (uint i = 0u; i < 8u; ++i) {                                                                           \
                uint four = 0u;                                                                                        \
                for (uint j = 0u; j < 4u; ++j) four |= q8_byte(value(first + 4u * i + j), scale_bits) << 8u * j;       \
                cache[at + i] = block == 0u ? waiting | four << 16 : four;                                             \
                waiting = four >> 16;                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
