// Functions of arrays of floats, with SIMD. Highway selects the processor's instructions at run time. A value that is
// NaN stays NaN.
#pragma once

#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// Replaces each value by its activation: LAMINA_NONE to LAMINA_LAST_ACTIVATION of product_numbers.h.
void activate(uint32_t activation, float *values, int64_t n);

// Replaces each value by log(1 + exp(value)).
void softplus(float *values, int64_t n);

// Multiplies each value by its own factor.
void multiply(float *values, const float *by, int64_t n);

// The greatest value, or the least float if there is none above it.
float greatest(const float *values, int64_t n);

// Replaces each value by exp(value - shift), which must not overflow. Returns the sum.
double exponentials(float *values, int64_t n, float shift);

// Multiplies each value.
void scale(float *values, int64_t n, float factor);

// Sines and cosines of n phases in units of 2^-32 turn, to 1e-7.
void sines_and_cosines(const uint32_t *phases, int64_t n, float *sines, float *cosines);

// What the norms do with the normalized values of a row; nullptr for what is left out.
struct NormOutput {
    const float *weight, *bias, *added;
    float weight_offset; // added to the weight
    float *y;
};

// y = (x - mean) / sqrt(variance + eps) * weight + bias + added, for a row of n values.
void layer_norm_row(const float *x, int64_t n, double eps, const NormOutput &out);

// y = x / sqrt(mean of squares + eps) * (weight_offset + weight) + added.
void rms_norm_row(const float *x, int64_t n, double eps, const NormOutput &out);

} // namespace lamina::plugin::cpu_fallback
