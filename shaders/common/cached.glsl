// Reads rows of a cache, or of an input in its place: f32, f16 or q8_0, of which rows are whole blocks.
//
// CACHED(name, BINDING, SPEC_ID) declares what WEIGHT does (weight.glsl) but name4, and vec4 name_q8(i), values 4 i to
// 4 i + 3 of q8_0.

#ifndef LAMINA_CACHED_GLSL
#define LAMINA_CACHED_GLSL

#include "common/blocks.glsl"
#include "common/weight.glsl"

#define CACHED(name, BINDING, SPEC_ID)                                                                                 \
    WEIGHT_WORDS(name, BINDING, SPEC_ID)                                                                               \
    BLOCK_PIECES(name)                                                                                                 \
    VALUES_Q8(name)                                                                                                    \
    float name(uint i) {                                                                                               \
        if (name##_dtype == Q8_0) return name##_q8(i / 4u)[i % 4u];                                                    \
        if (name##_dtype == F16) return unpackHalf2x16(name##_words[i / 2u])[i % 2u];                                  \
        return uintBitsToFloat(name##_words[i]);                                                                       \
    }

#endif
