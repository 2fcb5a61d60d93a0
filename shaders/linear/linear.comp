// Linear: y = x Wᵀ + b; x (..., K), W (N, K), b (N), y (..., N).
// In registers, on any device; product_registers.glsl says how.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/product_registers.glsl"
