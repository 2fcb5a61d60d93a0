// The projections of attention: queries, keys and values from tokens, and the output from the heads.
// In registers, on any device; product_registers.glsl says how.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/product_registers.glsl"
