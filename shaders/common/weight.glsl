// Weights of any dtype of the table in <lamina/plugin/dtype.hpp>, read as 32-bit words: no 16-bit device feature.
//
// WEIGHT(name, BINDING, SPEC_ID) declares a weight at a binding, and
//     float name(uint i)       the i-th value, widened exactly; 0 when the weight was left out
//     vec4 name4(uint i)       values 4 i to 4 i + 3: fewer loads, for rows of a multiple of 4 values
//     const uint name_dtype    specialization constant SPEC_ID: LAMINA_F32, ..., 0 when the weight was left out
// The plan sets the constant with dtype_of(call.weight("...")).

#ifndef LAMINA_WEIGHT_GLSL
#define LAMINA_WEIGHT_GLSL

const uint F32 = 1u, F16 = 2u, BF16 = 4u, Q8_0 = 16u; // as in plugin.h

// ---- The formats: a function each, of values 4 i to 4 i + 3 ----
// They are macros because GLSL cannot hand a buffer to a function. The buffer is there as words and as groups of 2 and 4.

#define VALUES_F32(name)                                                 \
    vec4 name##_f32(uint i) { return uintBitsToFloat(name##_words4[i]); }

#define VALUES_F16(name)                                            \
    vec4 name##_f16(uint i) {                                       \
        const uvec2 w = name##_words2[i];                           \
        return vec4(unpackHalf2x16(w.x), unpackHalf2x16(w.y));      \
    }

#define VALUES_BF16(name)                                                                                 \
    vec4 name##_bf16(uint i) {                                                                            \
        const uvec2 w = name##_words2[i];                                                                 \
        return uintBitsToFloat(uvec4(w.x << 16, w.x & 0xffff0000u, w.y << 16, w.y & 0xffff0000u));        \
    }

// Blocks of 34 bytes, an f16 scale and 32 signed bytes. Two blocks are 17 words; the second begins within a word, and
// the bytes of the first lie across words.
#define VALUES_Q8_0(name)                                                                                 \
    vec4 name##_q8_0(uint i) {                                                                            \
        const uint pair = i / 16u * 17u, at = pair + i % 16u;                                             \
        const bool second = i % 16u >= 8u;                                                                \
        const float scale = unpackHalf2x16(name##_words[second ? pair + 8u : pair])[second ? 1 : 0];      \
        const uint next = name##_words[at + 1u];                                                          \
        const int bytes = int(second ? next : name##_words[at] >> 16 | next << 16);                       \
        return scale * vec4(bitfieldExtract(ivec4(bytes, bytes >> 8, bytes >> 16, bytes >> 24), 0, 8));   \
    }

#define WEIGHT(name, BINDING, SPEC_ID)                                                                    \
    layout(constant_id = SPEC_ID) const uint name##_dtype = F32;                                          \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer { uint name##_words[]; };    \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer2 { uvec2 name##_words2[]; }; \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer4 { uvec4 name##_words4[]; }; \
    VALUES_F32(name)                                                                                      \
    VALUES_F16(name)                                                                                      \
    VALUES_BF16(name)                                                                                     \
    VALUES_Q8_0(name)                                                                                     \
    vec4 name##4(uint i) {                                                                                \
        vec4 v = vec4(0.0);                                                                               \
        if (name##_dtype == F32) v = name##_f32(i);                                                       \
        if (name##_dtype == F16) v = name##_f16(i);                                                       \
        if (name##_dtype == BF16) v = name##_bf16(i);                                                     \
        if (name##_dtype == Q8_0) v = name##_q8_0(i);                                                     \
        return v;                                                                                         \
    }                                                                                                     \
    float name(uint i) {                                                                                  \
        float v = 0.0;                                                                                    \
        if (name##_dtype == F32) v = uintBitsToFloat(name##_words[i]);                                    \
        else if (name##_dtype == F16) v = unpackHalf2x16(name##_words[i / 2u])[i % 2u];                   \
        else if (name##_dtype == BF16) v = uintBitsToFloat(name##_words[i / 2u] << 16 * (1u - i % 2u) & 0xffff0000u); \
        else if (name##_dtype != 0u) v = name##4(i / 4u)[i % 4u];                                         \
        return v;                                                                                         \
    }

#endif
