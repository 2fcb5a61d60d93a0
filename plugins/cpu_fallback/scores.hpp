// What top_k needs of a part of a row of scores, with SIMD.
#pragma once

#include <cstdint>

namespace lamina::plugin::cpu_fallback {

inline constexpr int64_t block_scores = 64;

// Scores of a row, to which `bias` is added unless it is null.
struct Scores {
    const float *x, *bias;
    [[nodiscard]] float operator[](int64_t i) const { return bias == nullptr ? x[i] : x[i] + bias[i]; }
};

// The greatest of each block of scores, of `n` in all, or the least float where there is none above it.
void block_maxima(const Scores &scores, int64_t n, float *maxima);

// The sum of exp(score - shift), which must not overflow; NaN if one is NaN or +infinity.
double sum_of_exponentials(const Scores &scores, int64_t n, float shift);

} // namespace lamina::plugin::cpu_fallback
