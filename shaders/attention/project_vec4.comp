// project.comp for rows whose length is a multiple of 4: X and W are read four values at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#define VEC4
#include "common/product_registers.glsl"
