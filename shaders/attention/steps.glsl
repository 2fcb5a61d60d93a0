// The operands of keys.glsl a step of WIDTH channels at a time: four with VEC4, where head dims are a multiple of 4, else
// one.

#include "keys.glsl"

#ifdef VEC4
#define STEP vec4
#define WIDTH 4u
layout(std430, set = 0, binding = 0) readonly buffer Q4 { vec4 q_step[]; };
layout(std430, set = 0, binding = 1) readonly buffer KFloats { vec4 k_floats[]; };
layout(std430, set = 0, binding = 1) readonly buffer KHalves { uvec2 k_halves[]; };
layout(std430, set = 0, binding = 2) readonly buffer VFloats { vec4 v_floats[]; };
layout(std430, set = 0, binding = 2) readonly buffer VHalves { uvec2 v_halves[]; };
vec4 widened(uvec2 halves) { return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y)); }
vec4 k_step(uint i) { return k_dtype == Q8_0 ? k_q8(i) : k_dtype == F16 ? widened(k_halves[i]) : k_floats[i]; }
vec4 v_step(uint i) { return v_dtype == Q8_0 ? v_q8(i) : v_dtype == F16 ? widened(v_halves[i]) : v_floats[i]; }
layout(std430, set = 0, binding = 7) writeonly buffer O4 { vec4 o_step[]; };
#else
#define STEP float
#define WIDTH 1u
#define q_step q
#define k_step k
#define v_step v
#define o_step o
#endif
