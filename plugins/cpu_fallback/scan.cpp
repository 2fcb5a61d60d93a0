// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "scan.hpp"

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr int64_t together = 4; // vectors of columns

HWY_INLINE Floats set(float v) { return hn::Set(floats, v); }

// All tokens in `Vectors` vectors of columns, from `first` on.
template <int64_t Vectors> HWY_INLINE void scan(const ScanTokens &tokens, int64_t first, float *state, int64_t row) {
    for (int64_t t = 0; t < tokens.count; ++t) {
        const float *const key = tokens.key + t * tokens.stride, *const query = tokens.query + t * tokens.stride,
                           *const value = tokens.value + t * tokens.stride + first;
        const Floats lost = set(tokens.lost[t]);
        Floats taken[Vectors], sum[Vectors];
        for (int64_t v = 0; v < Vectors; ++v) {
            const Floats of_vector = hn::LoadU(floats, value + v * lanes);
            taken[v] = hn::Mul(set(tokens.moved[t]), of_vector);
            sum[v] = hn::Mul(set(tokens.skip), of_vector);
        }
        for (int64_t i = 0; i < tokens.state_dim; ++i)
            for (int64_t v = 0; v < Vectors; ++v) {
                float *const at = state + i * row + v * lanes;
                const Floats before = hn::LoadU(floats, at);
                const Floats h = hn::MulAdd(set(key[i]), taken[v], hn::MulAdd(lost, before, before));
                hn::StoreU(h, floats, at);
                sum[v] = hn::MulAdd(set(query[i]), h, sum[v]);
            }
        for (int64_t v = 0; v < Vectors; ++v)
            hn::StoreU(sum[v], floats, tokens.y + t * tokens.y_stride + first + v * lanes);
    }
}

// The same for a column alone.
void scan_column(const ScanTokens &tokens, int64_t column, float *state, int64_t row) {
    for (int64_t t = 0; t < tokens.count; ++t) {
        const float *const key = tokens.key + t * tokens.stride, *const query = tokens.query + t * tokens.stride;
        const float value = tokens.value[t * tokens.stride + column], taken = tokens.moved[t] * value;
        float sum = tokens.skip * value;
        for (int64_t i = 0; i < tokens.state_dim; ++i) {
            float &h = state[i * row];
            h = h + tokens.lost[t] * h + key[i] * taken;
            sum += query[i] * h;
        }
        tokens.y[t * tokens.y_stride + column] = sum;
    }
}

} // namespace

HWY_ATTR void selective_scan_columns(const ScanTokens &tokens, float *state, int64_t row, int64_t columns) {
    int64_t first = 0;
    for (; first + together * lanes <= columns; first += together * lanes)
        scan<together>(tokens, first, state + first, row);
    for (; first + lanes <= columns; first += lanes) scan<1>(tokens, first, state + first, row);
    for (; first < columns; ++first) scan_column(tokens, first, state + first, row);
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(selective_scan_columns);

void selective_scan_columns(const ScanTokens &tokens, float *state, int64_t row, int64_t columns) {
    HWY_DYNAMIC_DISPATCH(selective_scan_columns)(tokens, state, row, columns);
}

} // namespace lamina::plugin::cpu_fallback
#endif
