// registers.glsl as it is.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "product/registers.glsl"
