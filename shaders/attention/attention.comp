// Attention for any device; see attend_registers.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "attend_registers.glsl"
