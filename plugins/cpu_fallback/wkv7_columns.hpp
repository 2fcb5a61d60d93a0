// The memories of RWKV-7 in some of their columns, with SIMD.
#pragma once

#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// What tokens have for one head. Keys are key_dim values each, `stride` apart from token to token; values are `columns`
// values each, y_stride apart; the sums of a token are one value each, sum_stride apart.
struct Wkv7Tokens {
    const float *faded_query;                 // query * fade
    const float *fade, *old, *replaced, *key; // replaced: rate * old, where old is a key of the length 1
    const float *value;
    const float *by_replaced, *by_key; // query * replaced, query * key
    float *y;
    int64_t stride, y_stride, sum_stride, count, key_dim;
};

// memory: key_dim rows of `columns` values, `row` values apart.
void wkv7_columns(const Wkv7Tokens &tokens, float *memory, int64_t row, int64_t columns);

} // namespace lamina::plugin::cpu_fallback
