// Attention for the few queries of a generation step on GPUs; see attend_row.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "attend_row.glsl"
