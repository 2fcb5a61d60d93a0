// Attention, on any device; attend_registers.glsl says how.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "attend_registers.glsl"
