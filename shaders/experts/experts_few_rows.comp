// few_rows.glsl with the matrices of chosen experts.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "experts/chosen_push.glsl"
#include "product/few_rows.glsl"
