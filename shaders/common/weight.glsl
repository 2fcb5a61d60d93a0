// Reads weights of any dtype in the table of <lamina/plugin/dtype.hpp> as 32-bit words, which needs no 16-bit feature.
//
// WEIGHT(name, BINDING, SPEC_ID) declares a weight at a binding, and
//     float name(uint i)       the i-th value, widened exactly; 0 if the weight was left out
//     vec4 name4(uint i)       values 4 i to 4 i + 3: fewer loads, for rows of a multiple of 4 values
//     const uint name_dtype    specialization constant SPEC_ID: LAMINA_F32, ...; 0 if the weight was left out
// The plan sets the constant with dtype_of(call.weight("...")).
//
// WEIGHT_OR_BLOCKS(...) is the same for a weight that the contract declares in_blocks(). A kernel that uses it is
// compiled twice: for f32, f16 and bf16, and with BLOCKS for blocks of any format. The plan chooses by the weight's
// dtype. One kernel for both would be slower on SwiftShader, even if no weight is in blocks.

#ifndef LAMINA_WEIGHT_GLSL
#define LAMINA_WEIGHT_GLSL

const uint F32 = 1u, F16 = 2u, BF16 = 4u; // as in plugin.h

// Macros, because GLSL cannot pass a buffer to a function. The buffer is declared as words and as groups of 2 and 4.
#define WEIGHT_WORDS(name, BINDING, SPEC_ID)                                                              \
    layout(constant_id = SPEC_ID) const uint name##_dtype = F32;                                          \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer { uint name##_words[]; };    \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer2 { uvec2 name##_words2[]; }; \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer4 { uvec4 name##_words4[]; };

// ---- Single values ----

vec4 halves(uint dtype, uvec2 w) { // of f16 or bf16
    if (dtype == F16) return vec4(unpackHalf2x16(w.x), unpackHalf2x16(w.y));
    return uintBitsToFloat(uvec4(w.x << 16, w.x & 0xffff0000u, w.y << 16, w.y & 0xffff0000u));
}

#define WEIGHT(name, BINDING, SPEC_ID)                                                             \
    WEIGHT_WORDS(name, BINDING, SPEC_ID)                                                           \
    float name(uint i) {                                                                           \
        if (name##_dtype == F32) return uintBitsToFloat(name##_words[i]);                          \
        if (name##_dtype == 0u) return 0.0;                                                        \
        const uint word = name##_words[i / 2u];                                                    \
        if (name##_dtype == F16) return unpackHalf2x16(word)[i % 2u];                              \
        return uintBitsToFloat(i % 2u == 0u ? word << 16 : word & 0xffff0000u);                    \
    }                                                                                              \
    vec4 name##4(uint i) {                                                                         \
        if (name##_dtype == F32) return uintBitsToFloat(name##_words4[i]);                         \
        if (name##_dtype == 0u) return vec4(0.0);                                                  \
        return halves(name##_dtype, name##_words2[i]);                                             \
    }

// ---- In blocks ----

#ifdef BLOCKS
#include "common/blocks.glsl"
#define WEIGHT_OR_BLOCKS(name, BINDING, SPEC_ID) \
    WEIGHT_WORDS(name, BINDING, SPEC_ID)         \
    VALUES_IN_BLOCKS(name)                       \
    float name(uint i) { return name##4(i / 4u)[i % 4u]; }
#else
#define WEIGHT_OR_BLOCKS WEIGHT
#endif

#endif
