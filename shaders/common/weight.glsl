// Weights in f32, f16 or bf16, read without any 16-bit device feature.
//
// WEIGHT(name, BINDING, SPEC_ID) declares a weight as 32-bit words at a binding, and
//     float name(uint i)          the i-th value, widened exactly; 0 when the weight was left out
//     const uint name_dtype       specialization constant SPEC_ID: 1 f32, 2 f16, 4 bf16, 0 left out
// The plan sets the constant with dtype_of(call.weight("...")).

#ifndef LAMINA_WEIGHT_GLSL
#define LAMINA_WEIGHT_GLSL

float widen_half(uint word, uint i) { return unpackHalf2x16(word)[i & 1u]; }
float widen_bfloat(uint word, uint i) { return uintBitsToFloat((i & 1u) != 0u ? word & 0xffff0000u : word << 16); }

#define WEIGHT(name, BINDING, SPEC_ID)                                                                 \
    layout(constant_id = SPEC_ID) const uint name##_dtype = 1u;                                        \
    layout(std430, set = 0, binding = BINDING) readonly buffer name##_buffer { uint name##_words[]; }; \
    float name(uint i) {                                                                               \
        if (name##_dtype == 1u) return uintBitsToFloat(name##_words[i]);                               \
        if (name##_dtype == 2u) return widen_half(name##_words[i >> 1], i);                            \
        if (name##_dtype == 4u) return widen_bfloat(name##_words[i >> 1], i);                          \
        return 0.0;                                                                                    \
    }

#endif
