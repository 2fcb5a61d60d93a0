// The selective scan in some columns of a state, with SIMD.
#pragma once

#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// What a token has for one head: where its first value is, and how far apart tokens are.
struct ScanTokens {
    const float *value, *key, *query; // `columns`, state_dim and state_dim values
    const float *lost, *moved;        // of each token: what the state is multiplied by, minus 1, and what the value is
    float *y;                         // `columns` values
    float skip;                       // times the values, added to y
    float rate;                       // of fading: lost = expm1(-rate * moved)
    int64_t stride, y_stride, count, state_dim;
};

// state: state_dim rows of `columns` values, `row` values apart. Sixteen tokens at a time, by products of matrices, as
// the variant `chunked` of the layer has them.
void selective_scan_columns(const ScanTokens &tokens, float *state, int64_t row, int64_t columns);

// The same where each row fades at a rate of its own, as in Mamba: tokens.lost is not used. At most most_scan_rows
// rows.
constexpr int64_t most_scan_rows = 256;
void selective_scan_rows(const ScanTokens &tokens, const float *log_rate, float *state, int64_t row, int64_t columns);

} // namespace lamina::plugin::cpu_fallback
