// The gated delta rule in some columns of a memory, with SIMD.
#pragma once

#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// Columns that are computed together. With 256 rows or fewer, they stay in the cache from token to token.
inline constexpr int64_t delta_columns = 64;

// What a token has for one head: where its first value is, and how far apart tokens are.
struct DeltaTokens {
    const float *query, *key, *value; // key_dim, key_dim and delta_columns values
    const float *fade, *share;        // of each token: what its memory is multiplied by, and how much of it is written
    float *y;                         // delta_columns values
    int64_t stride, y_stride, count, key_dim;
    float eps;
};

// memory: key_dim rows of delta_columns values, `row` values apart.
void delta_rule(const DeltaTokens &tokens, float *memory, int64_t row);

} // namespace lamina::plugin::cpu_fallback
