// Splits a float into the sum of two halves. Cooperative matrices multiply f16; this gives them the accuracy of f32.
//
// A half has 11 bits, two halves have 22. The product of two floats, computed as high * high + high * low + low * high,
// has a relative error below 2^-20. f16 ends at 65504, and a device may flush its subnormals to zero. So rows are first
// multiplied by a power of two that brings their greatest value to 2^14 or more (scale.glsl). Flushed values are then
// less than 2^-29 of the greatest.

#ifndef LAMINA_SPLIT_GLSL
#define LAMINA_SPLIT_GLSL

#include "common/scale.glsl"

// Rounds four values.
uvec2 half_of(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }

// Splits four values. The high part is rounded, in integer arithmetic, to a value that a half holds exactly. So the
// result does not depend on how a device rounds halves, or on a compiler that removes a conversion to half and back.
// The low part of infinity or NaN is NaN.
void split(vec4 v, out uvec2 high, out uvec2 low) {
    const vec4 rounded = uintBitsToFloat((floatBitsToUint(v) + 0x1000u) & 0xffffe000u), rest = v - rounded;
    high = half_of(rounded);
    low = half_of(rest);
}

#endif
