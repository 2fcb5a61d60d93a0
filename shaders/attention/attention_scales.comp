// The scales of the rows of Q, K and V, head by head, for attention_matrix.comp, which needs GL_KHR_cooperative_matrix.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROWS CACHED
#include "common/cached.glsl"
#include "common/row_scales.glsl"
