// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "scan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

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

// A column, whose values lie side by side, of a state whose rows have rates of their own.
HWY_INLINE void scan_with_rates(const ScanTokens &tokens, const float *rate, int64_t column, float *state) {
    for (int64_t t = 0; t < tokens.count; ++t) {
        const float *const key = tokens.key + t * tokens.stride, *const query = tokens.query + t * tokens.stride;
        const float value = tokens.value[t * tokens.stride + column], moved = tokens.moved[t], taken = moved * value;
        Floats sums = hn::Zero(floats);
        int64_t i = 0;
        for (; i + lanes <= tokens.state_dim; i += lanes) {
            const Floats lost = hn::Expm1(floats, hn::Mul(hn::LoadU(floats, rate + i), set(-moved)));
            const Floats before = hn::LoadU(floats, state + i);
            const Floats h = hn::MulAdd(hn::LoadU(floats, key + i), set(taken), hn::MulAdd(lost, before, before));
            hn::StoreU(h, floats, state + i);
            sums = hn::MulAdd(hn::LoadU(floats, query + i), h, sums);
        }
        float sum = tokens.skip * value + hn::GetLane(hn::SumOfLanes(floats, sums));
        for (; i < tokens.state_dim; ++i) {
            state[i] += std::expm1(-rate[i] * moved) * state[i] + key[i] * taken;
            sum += query[i] * state[i];
        }
        tokens.y[t * tokens.y_stride + column] = sum;
    }
}

} // namespace

HWY_ATTR void selective_scan_rows(const ScanTokens &tokens, const float *log_rate, float *state, int64_t row,
                                  int64_t columns) {
    std::array<float, most_scan_rows> rate, own;
    int64_t i = 0;
    for (; i + lanes <= tokens.state_dim; i += lanes)
        hn::StoreU(hn::Exp(floats, hn::LoadU(floats, log_rate + i)), floats, rate.data() + i);
    for (; i < tokens.state_dim; ++i) rate[static_cast<size_t>(i)] = std::exp(log_rate[i]);
    if (row == 1) return scan_with_rates(tokens, rate.data(), 0, state);
    for (int64_t c = 0; c < columns; ++c) {
        for (int64_t r = 0; r < tokens.state_dim; ++r) own[static_cast<size_t>(r)] = state[r * row + c];
        scan_with_rates(tokens, rate.data(), c, own.data());
        for (int64_t r = 0; r < tokens.state_dim; ++r) state[r * row + c] = own[static_cast<size_t>(r)];
    }
}

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
HWY_EXPORT(selective_scan_rows);

void selective_scan_columns(const ScanTokens &tokens, float *state, int64_t row, int64_t columns) {
    HWY_DYNAMIC_DISPATCH(selective_scan_columns)(tokens, state, row, columns);
}

void selective_scan_rows(const ScanTokens &tokens, const float *log_rate, float *state, int64_t row, int64_t columns) {
    HWY_DYNAMIC_DISPATCH(selective_scan_rows)(tokens, log_rate, state, row, columns);
}

} // namespace lamina::plugin::cpu_fallback
#endif
