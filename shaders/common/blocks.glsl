// Reads weights in blocks (the formats of <lamina/plugin/dtype.hpp>) four values at a time. There is one function per
// format, which returns values 4 i to 4 i + 3. See weight.glsl.
//
// Blocks whose size is a multiple of 4 bytes are aligned to words, the others to even bytes.

#ifndef LAMINA_BLOCKS_GLSL
#define LAMINA_BLOCKS_GLSL

// As in plugin.h.
const uint Q8_0 = 16u, Q4_0 = 32u, Q4_1 = 64u, Q5_0 = 128u, Q5_1 = 256u, Q4_K = 512u, Q5_K = 1024u, Q6_K = 2048u,
           Q2_K = 4096u, Q3_K = 8192u, IQ4_NL = 16384u, IQ4_XS = 32768u, I8_K = 65536u,
           I4_K = 131072u;

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
// The byte of a word that belongs to a part, if four parts have a byte each.
uint byte_of(uint word, uint part) { return word >> part % 4u * 8u & 255u; }
// The scale of one of the 16 parts of a block of q3_k, from the bytes with its lower and its upper bits.
float q3_k_steps(uint lower, uint upper, uint part) {
    return float(int(lower >> part / 8u * 4u & 15u | (upper >> part / 4u * 2u & 3u) << 4) - 32);
}
// The scale of one of the 8 parts of a block of iq4_xs, from the word that begins the block, and the next.
float iq4_xs_steps(uint word, uint lower, uint part) {
    return float(int(lower >> part * 4u & 15u | (word >> 16u + part * 2u & 3u) << 4) - 32);
}
// The numbers of iq4_nl and iq4_xs that four bytes below 16 stand for. They are bytes of four words.
vec4 iq4_numbers(uint codes) {
    const uvec4 code = uvec4(codes, codes >> 8, codes >> 16, codes >> 24) & 15u;
    const bvec4 odd = notEqual(code & 4u, uvec4(0u)), upper = notEqual(code & 8u, uvec4(0u));
    const uvec4 below = mix(uvec4(0xbfad9881u), uvec4(0xf6eaddcfu), odd), // -127 to -65, -49 to -10
        above = mix(uvec4(0x26190d01u), uvec4(0x71594535u), odd);         // 1 to 38, 53 to 113
    return vec4(bitfieldExtract(ivec4(mix(below, above, upper) >> (code & 3u) * 8u), 0, 8));
}

// The first and the last four numbers of a codebook of i4_k, as bytes, from the word that begins a block.
uvec2 i4_book(uint word) {
    const uint book = word >> 16;
    return book == 0u ? uvec2(0x09080701u, 0x00002b19u) : uvec2(0x38281808u, book == 1u ? 0x7c685848u : 0x78685848u);
}
// The numbers that four bytes below 16 stand for.
vec4 i4_numbers(uint codes, uvec2 book) {
    const uvec4 code = uvec4(codes, codes >> 8, codes >> 16, codes >> 24) & 15u;
    const uvec4 words = mix(uvec4(book.x), uvec4(book.y), notEqual(code & 4u, uvec4(0u)));
    const vec4 number = vec4(words >> (code & 3u) * 8u & 255u);
    return mix(number, -number, greaterThan(code, uvec4(7u)));
}
// The scale of one of the parts that share a word, times the block's factor.
float i4_scale(uint head, uint scales, uint part) {
    return unpackHalf2x16(head).x * 0.125 * float((scales >> part % 8u * 4u & 15u) * 2u + 1u);
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

#define VALUES_Q2_K(name)                                                                                              \
    vec4 name##_q2_k(uint i) {                                                                                         \
        const uint block = i / 64u * 21u, j = i % 32u, part = i % 64u / 4u;                                            \
        const uint q = name##_words[block + 4u + i / 32u % 2u * 8u + j % 8u] >> j / 8u * 2u & 0x03030303u;             \
        const uint steps = byte_of(name##_words[block + part / 4u], part);                                             \
        const vec2 scales = unpackHalf2x16(name##_words[block + 20u]) * vec2(steps & 15u, steps >> 4);                 \
        return scales.x * bytes_of(q) - scales.y;                                                                      \
    }

#define VALUES_Q3_K(name)                                                                                              \
    uint name##_byte(uint byte) { return byte_of(name##_words[byte / 4u], byte); }                                     \
    vec4 name##_q3_k(uint i) {                                                                                         \
        const uint block = i / 64u * 110u, upper_half = i / 32u % 2u, j = i % 32u, part = i % 64u / 4u;                \
        const uint low = name##_at(block + 32u + upper_half * 32u + j % 8u * 4u) >> j / 8u * 2u;                       \
        const uint third = name##_at(block + j % 8u * 4u) >> upper_half * 4u + j / 8u;                                 \
        const float steps =                                                                                            \
            q3_k_steps(name##_byte(block + 96u + part % 8u), name##_byte(block + 104u + part % 4u), part);             \
        return name##_half(block + 108u) * steps * (bytes_of(low & 0x03030303u | (third & 0x01010101u) << 2) - 4.0);   \
    }

#define VALUES_IQ4(name)                                                                                               \
    vec4 name##_iq4_nl(uint i) {                                                                                       \
        const uint block = i / 8u * 18u, j = i % 8u;                                                                   \
        return name##_half(block) * iq4_numbers(nibbles(name##_at(block + 2u + j % 4u * 4u), j >= 4u));                \
    }                                                                                                                  \
    vec4 name##_iq4_xs(uint i) {                                                                                       \
        const uint block = i / 64u * 34u, part = i / 8u % 8u, j = i % 8u, head = name##_words[block];                  \
        const float scale = unpackHalf2x16(head).x * iq4_xs_steps(head, name##_words[block + 1u], part);               \
        return scale * iq4_numbers(nibbles(name##_words[block + 2u + part * 4u + j % 4u], j >= 4u));                   \
    }

#define VALUES_I8_K(name)                                                                                              \
    vec4 name##_i8_k(uint i) {                                                                                         \
        const uint block = i / 64u * 69u, part = i % 64u / 4u;                                                         \
        const int steps = bitfieldExtract(int(name##_words[block + 1u + part / 4u]), int(part % 4u * 8u), 8);          \
        return uintBitsToFloat(name##_words[block]) * float(steps) * signed_bytes(name##_words[block + 5u + i % 64u]); \
    }

#define VALUES_I4_K(name)                                                                                              \
    vec4 name##_i4_k(uint i) {                                                                                         \
        const uint block = i / 64u * 35u, part = i % 64u / 4u, j = i % 8u, head = name##_words[block];                 \
        const uint codes = nibbles(name##_words[block + 3u + i % 64u / 8u * 4u + j % 4u], j >= 4u);                    \
        return i4_scale(head, name##_words[block + 1u + part / 8u], part) * i4_numbers(codes, i4_book(head));          \
    }

// name4(i), for the format given by the specialization constant.
#define VALUES_IN_BLOCKS(name)                                                                                         \
    BLOCK_PIECES(name)                                                                                                 \
    VALUES_Q8(name)                                                                                                    \
    VALUES_FEW_BITS(name)                                                                                              \
    VALUES_K(name)                                                                                                     \
    VALUES_Q6_K(name)                                                                                                  \
    VALUES_Q2_K(name)                                                                                                  \
    VALUES_Q3_K(name)                                                                                                  \
    VALUES_IQ4(name)                                                                                                   \
    VALUES_I8_K(name)                                                                                                  \
    VALUES_I4_K(name)                                                                                                  \
    vec4 name##4(uint i) {                                                                                             \
        if (name##_dtype == Q8_0) return name##_q8(i);                                                                 \
        if (name##_dtype == Q4_K || name##_dtype == Q5_K) return name##_k(i);                                          \
        if (name##_dtype == Q6_K) return name##_q6_k(i);                                                               \
        if (name##_dtype == Q2_K) return name##_q2_k(i);                                                               \
        if (name##_dtype == Q3_K) return name##_q3_k(i);                                                               \
        if (name##_dtype == IQ4_NL) return name##_iq4_nl(i);                                                           \
        if (name##_dtype == IQ4_XS) return name##_iq4_xs(i);                                                           \
        if (name##_dtype == I8_K) return name##_i8_k(i);                                                               \
        if (name##_dtype == I4_K) return name##_i4_k(i);                                                               \
        return name##_dtype == 0u ? vec4(0.0) : name##_few_bits(i);                                                    \
    }

#endif
