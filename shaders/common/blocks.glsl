// Reads weights in blocks (<lamina/plugin/blocks.hpp>, <lamina/plugin/k_blocks.hpp>) four values at a time. There is
// one function per format, which returns values 4 i to 4 i + 3. See weight.glsl.
//
// Blocks whose size is a multiple of 4 bytes are aligned to words, the others to even bytes.

#ifndef LAMINA_BLOCKS_GLSL
#define LAMINA_BLOCKS_GLSL

// As in plugin.h.
const uint Q8_0 = 16u, Q4_0 = 32u, Q4_1 = 64u, Q5_0 = 128u, Q5_1 = 256u, Q4_K = 512u, Q5_K = 1024u, Q6_K = 2048u;

// ---- Parts of a word ----

vec4 bytes_of(uint word) { return vec4(uvec4(word, word >> 8, word >> 16, word >> 24) & 255u); }
vec4 signed_bytes(uint word) {
    return vec4(bitfieldExtract(ivec4(uvec4(word, word >> 8, word >> 16, word >> 24)), 0, 8));
}
// The lower or the upper four bits of each byte.
uint nibbles(uint word, bool upper) { return (upper ? word >> 4 : word) & 0x0f0f0f0fu; }
// Moves bits 0 to 3 to bit 4 of each of four bytes.
uint fifth_bits(uint bits) { return ((bits & 15u) * 0x00204081u & 0x01010101u) << 4; }
// The 6-bit scale and minimum of one of the 8 parts of a K block.
vec2 six_bits(uvec3 words, uint part) {
    const uvec3 b = words >> part % 4u * 8u & 255u;
    return part < 4u ? vec2(b.xy & 63u) : vec2(uvec2(b.z & 15u, b.z >> 4) | b.xy >> 6 << 4);
}

// ---- Formats ----

// The 32-bit word, and the f16 number, at an even byte offset.
#define BLOCK_PIECES(name)                                                                                             \
    uint name##_at(uint byte) {                                                                                        \
        const uint word = name##_words[byte / 4u];                                                                     \
        if (byte % 4u == 0u) return word;                                                                              \
        return word >> 16 | name##_words[byte / 4u + 1u] << 16;                                                        \
    }                                                                                                                  \
    float name##_half(uint byte) { return unpackHalf2x16(name##_words[byte / 4u] >> byte % 4u * 8u).x; }

#define VALUES_Q8(name)                                                                                                \
    vec4 name##_q8(uint i) {                                                                                           \
        const uint block = i / 8u * 34u;                                                                               \
        return name##_half(block) * signed_bytes(name##_at(block + 2u + i % 8u * 4u));                                 \
    }

#define VALUES_FEW_BITS(name)                                                                                          \
    vec4 name##_few_bits(uint i) {                                                                                     \
        const bool five = name##_dtype == Q5_0 || name##_dtype == Q5_1;                                                \
        const bool minimum = name##_dtype == Q4_1 || name##_dtype == Q5_1;                                             \
        const uint fifth = minimum ? 4u : 2u, low = fifth + (five ? 4u : 0u), j = i % 8u;                              \
        const uint block = i / 8u * (low + 16u);                                                                       \
        uint q = nibbles(name##_at(block + low + j % 4u * 4u), j >= 4u);                                               \
        if (five) q |= fifth_bits(name##_at(block + fifth) >> j * 4u);                                                 \
        const float scale = name##_half(block);                                                                        \
        if (minimum) return scale * bytes_of(q) + name##_half(block + 2u);                                             \
        return scale * (bytes_of(q) - (five ? 16.0 : 8.0));                                                            \
    }

#define VALUES_K(name)                                                                                                 \
    vec4 name##_k(uint i) {                                                                                            \
        const bool five = name##_dtype == Q5_K;                                                                        \
        const uint block = i / 64u * (five ? 44u : 36u), low = block + (five ? 12u : 4u);                              \
        const uint part = i / 8u % 8u, j = i % 8u;                                                                     \
        uint q = nibbles(name##_words[low + part / 2u * 8u + j], part % 2u == 1u);                                     \
        if (five) q |= (name##_words[block + 4u + j] >> part & 0x01010101u) << 4;                                      \
        const uvec3 numbers = uvec3(name##_words[block + 1u], name##_words[block + 2u], name##_words[block + 3u]);     \
        const vec2 scales = unpackHalf2x16(name##_words[block]) * six_bits(numbers, part);                             \
        return scales.x * bytes_of(q) - scales.y;                                                                      \
    }

#define VALUES_Q6_K(name)                                                                                              \
    vec4 name##_q6_k(uint i) {                                                                                         \
        const uint block = i / 64u * 210u, upper_half = i / 32u % 2u, j = i % 32u;                                     \
        const uint low = name##_at(block + upper_half * 64u + j % 16u * 4u);                                           \
        const uint high = name##_at(block + 128u + upper_half * 32u + j % 8u * 4u) >> j / 8u * 2u;                     \
        const uint part = block + 192u + i % 64u / 4u;                                                                 \
        const int steps = bitfieldExtract(int(name##_words[part / 4u]), int(part % 4u * 8u), 8);                       \
        const vec4 q = bytes_of(nibbles(low, j >= 16u) | (high & 0x03030303u) << 4) - 32.0;                            \
        return name##_half(block + 208u) * float(steps) * q;                                                           \
    }

// name4(i), for the format given by the specialization constant.
#define VALUES_IN_BLOCKS(name)                                                                                         \
    BLOCK_PIECES(name)                                                                                                 \
    VALUES_Q8(name)                                                                                                    \
    VALUES_FEW_BITS(name)                                                                                              \
    VALUES_K(name)                                                                                                     \
    VALUES_Q6_K(name)                                                                                                  \
    vec4 name##4(uint i) {                                                                                             \
        if (name##_dtype == 0u) return vec4(0.0);                                                                      \
        if (name##_dtype == Q8_0) return name##_q8(i);                                                                 \
        if (name##_dtype == Q6_K) return name##_q6_k(i);                                                               \
        return name##_dtype < Q4_K ? name##_few_bits(i) : name##_k(i);                                                 \
    }

#endif
