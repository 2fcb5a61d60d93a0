// Activations, safe at any finite x and accurate to a few 1e-7 of the result.
//
// GLSL has no erf, and its tanh may overflow internally. Both are computed from exp with a bounded argument.

#ifndef LAMINA_ACTIVATION_GLSL
#define LAMINA_ACTIVATION_GLSL

#include "common/tanh.glsl"
#include "lamina/plugin/product_numbers.h"

// Below -80 the true value is under 1e-32. The clamp keeps the division in the range where Vulkan guarantees its
// precision.
float times_sigmoid(float x, float v) { return v < -80.0 ? 0.0 : x / (1.0 + exp(-v)); }

// x * (1 + erf(x / sqrt(2))) / 2, by erfc's Chebyshev fit with a relative error below 1.2e-7 everywhere
// (Press et al., Numerical Recipes, 6.2).
float gelu(float x) {
    const float z = abs(x) * 0.70710678118654752;
    const float t = 1.0 / (1.0 + 0.5 * z);
    float p = 0.17087277;
    p = -0.82215223 + t * p;
    p = 1.48851587 + t * p;
    p = -1.13520398 + t * p;
    p = 0.27886807 + t * p;
    p = -0.18628806 + t * p;
    p = 0.09678418 + t * p;
    p = 0.37409196 + t * p;
    p = 1.00002368 + t * p;
    p = -1.26551223 + t * p;
    const float tail = 0.5 * t * exp(p - z * z); // of the normal distribution, beyond |x|
    return x < 0.0 ? x * tail : x - x * tail;
}

float activate(uint activation, float x) {
    if (activation == LAMINA_RELU) return x < 0.0 ? 0.0 : x; // unlike max(), keeps a NaN
    if (activation == LAMINA_GELU) return gelu(x);
    if (activation == LAMINA_GELU_TANH) return times_sigmoid(x, 1.5957691216057308 * (x + 0.044715 * x * x * x));
    if (activation == LAMINA_SILU) return times_sigmoid(x, x);
    if (activation == LAMINA_QUICK_GELU) return times_sigmoid(x, 1.702 * x);
    if (activation == LAMINA_TANH) return safe_tanh(x);
    if (activation == LAMINA_SIGMOID) return times_sigmoid(1.0, x);
    if (activation == LAMINA_RELU2) return x < 0.0 ? 0.0 : x * x;
    return x;
}

#endif
