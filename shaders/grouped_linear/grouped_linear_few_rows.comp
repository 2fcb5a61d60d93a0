// few_rows.glsl with a matrix for each group of channels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "grouped_linear/groups_push.glsl"
#include "product/few_rows.glsl"
