// project.comp for at most 8 rows on a GPU; product_few_rows.glsl says how.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/product_few_rows.glsl"
