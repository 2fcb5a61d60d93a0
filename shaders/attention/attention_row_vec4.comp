// attention_row.comp for head dims that are a multiple of 4: channels are read four at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#define VEC4
#include "attend_row.glsl"
