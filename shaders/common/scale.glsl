// Powers of two that bring rows of values into the range of halves. split.glsl says why.

#ifndef LAMINA_SCALE_GLSL
#define LAMINA_SCALE_GLSL

// The scale that brings a magnitude, given as the bits of a float, to 2^14 or more, but below 2^15. Below 2^-86 the
// scale is 2^100, so that scales and their inverses are normal floats. Only infinity and NaN get 2^-114.
float scale_for(uint magnitude) { return uintBitsToFloat((127u + 14u + 127u - max(magnitude >> 23, 41u)) << 23); }
const float SCALE_OF_INFINITY = 4.814824860968089632639944856462318296345254e-35; // 2^-114

// 1 / scale, exactly.
float inverse_of(float scale) { return uintBitsToFloat(0x7f000000u - floatBitsToUint(scale)); }

#endif
