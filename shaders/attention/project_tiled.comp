// project.comp by way of shared memory, for many rows on a GPU; product_tiled.glsl says how.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/product_tiled.glsl"
