// One product of a feed-forward layer: hidden = act(x Upᵀ + b), or y = hidden Downᵀ + b + residual.
// In registers, on any device; product_registers.glsl says how.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/product_registers.glsl"
