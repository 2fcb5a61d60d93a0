// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "scan.hpp"
#include "matrix.hpp"

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

// Tokens from `begin` on in `Vectors` vectors of columns, from `first` on.
template <int64_t Vectors>
HWY_INLINE void scan(const ScanTokens &tokens, int64_t begin, int64_t first, float *state, int64_t row) {
    for (int64_t t = begin; t < tokens.count; ++t) {
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

// What 16 tokens do to a state H: with their values V, y = left * (query * H) + own * V, and then
// H = H + lost * H + key * (taken * V). shaders/selective_scan/selective_scan_chunk.comp has the maths.
constexpr int64_t chunk = 16;
class Chunk {
  public:
    HWY_INLINE Chunk(const ScanTokens &tokens, int64_t first)
        : query_(tokens.query + first * tokens.stride), key_(tokens.key + first * tokens.stride),
          value_(tokens.value + first * tokens.stride), y_(tokens.y + first * tokens.y_stride), stride_(tokens.stride),
          y_stride_(tokens.y_stride), rows_(tokens.state_dim) {
        const float *const moved = tokens.moved + first;
        // Sums of what moves the state from one token to another. A difference of two sums from the first token on
        // would have lost what is small beside a token that moves it a lot.
        std::array<std::array<float, chunk>, chunk> between; // [s][t]: after the token s, up to the token t
        float all = 0;
        for (size_t s = 0; s < chunk; ++s) {
            left_[s] = -tokens.rate * (all += moved[s]);
            float sum = 0;
            for (size_t t = 0; t < chunk; ++t) between[s][t] = -tokens.rate * (t > s ? sum += moved[t] : 0);
            taken_[s] = between[s].back();
            exponentials(between[s].data());
        }
        lost_ = std::expm1(left_.back());
        exponentials(left_.data());
        exponentials(taken_.data());
        for (size_t t = 0; t < chunk; ++t) taken_[t] *= moved[t];
        for (int64_t t = 0; t < chunk; t += 4)
            for (int64_t s = 0; s < t + 4; s += 2) find_products(t, s);
        for (size_t t = 0; t < chunk; ++t) {
            for (size_t s = 0; s <= t; ++s) own_[t][s] *= between[s][t] * moved[s];
            own_[t][t] += tokens.skip;
        }
    }

    // In `Vectors` vectors of columns, from `column` on.
    template <int64_t Vectors> HWY_INLINE void apply(int64_t column, float *state, int64_t row) const {
        const float *const value = value_ + column;
        for (int64_t t = 0; t < chunk; t += 4) {
            Floats sums[4][Vectors];
            for (auto &of_token : sums)
                for (Floats &sum : of_token) sum = hn::Zero(floats);
            for (int64_t i = 0; i < rows_; ++i) add_row(sums, query_ + t * stride_ + i, stride_, state + i * row);
            for (int64_t k = 0; k < 4; ++k)
                for (Floats &sum : sums[k]) sum = hn::Mul(sum, set(left_[static_cast<size_t>(t + k)]));
            for (int64_t s = 0; s < t; ++s)
                add_row(sums, own_[static_cast<size_t>(t)].data() + s, chunk, value + s * stride_);
            for (int64_t k = 0; k < 4; ++k) // nothing of later tokens, whose values may be infinite
                for (int64_t s = t; s <= t + k; ++s)
                    for (int64_t v = 0; v < Vectors; ++v)
                        sums[k][v] = hn::MulAdd(set(own_[static_cast<size_t>(t + k)][static_cast<size_t>(s)]),
                                                hn::LoadU(floats, value + s * stride_ + v * lanes), sums[k][v]);
            for (int64_t k = 0; k < 4; ++k)
                for (int64_t v = 0; v < Vectors; ++v)
                    hn::StoreU(sums[k][v], floats, y_ + (t + k) * y_stride_ + column + v * lanes);
        }
        float taken[chunk * Vectors * lanes];
        for (int64_t s = 0; s < chunk; ++s)
            for (int64_t v = 0; v < Vectors; ++v)
                hn::StoreU(
                    hn::Mul(set(taken_[static_cast<size_t>(s)]), hn::LoadU(floats, value + s * stride_ + v * lanes)),
                    floats, taken + (s * Vectors + v) * lanes);
        int64_t i = 0;
        for (; i + 4 <= rows_; i += 4) change<4, Vectors>(taken, i, state, row);
        for (; i < rows_; ++i) change<1, Vectors>(taken, i, state, row);
    }

  private:
    static HWY_INLINE void exponentials(float *values) {
        for (int64_t i = 0; i < chunk; i += lanes)
            hn::StoreU(hn::Exp(floats, hn::LoadU(floats, values + i)), floats, values + i);
    }
    // Of the queries of four tokens and the keys of two.
    HWY_INLINE void find_products(int64_t t, int64_t s) {
        const float *const query = query_ + t * stride_, *const key = key_ + s * stride_;
        Floats sums[4][2];
        for (auto &of_query : sums)
            for (Floats &sum : of_query) sum = hn::Zero(floats);
        int64_t i = 0;
        for (; i + lanes <= rows_; i += lanes) {
            const Floats first = hn::LoadU(floats, key + i), second = hn::LoadU(floats, key + stride_ + i);
            for (int64_t k = 0; k < 4; ++k) {
                const Floats q = hn::LoadU(floats, query + k * stride_ + i);
                sums[k][0] = hn::MulAdd(q, first, sums[k][0]);
                sums[k][1] = hn::MulAdd(q, second, sums[k][1]);
            }
        }
        for (int64_t k = 0; k < 4; ++k)
            for (int64_t o = 0; o < 2; ++o) {
                float sum = hn::GetLane(hn::SumOfLanes(floats, sums[k][o]));
                for (int64_t r = i; r < rows_; ++r) sum += query[k * stride_ + r] * key[o * stride_ + r];
                own_[static_cast<size_t>(t + k)][static_cast<size_t>(s + o)] = sum;
            }
    }
    // sums[k] += factors[k * step] * values.
    template <int64_t Count, int64_t Vectors>
    static HWY_INLINE void add_row(Floats (&sums)[Count][Vectors], const float *factors, int64_t step,
                                   const float *values) {
        for (int64_t v = 0; v < Vectors; ++v) {
            const Floats of_row = hn::LoadU(floats, values + v * lanes);
            for (int64_t k = 0; k < Count; ++k) sums[k][v] = hn::MulAdd(set(factors[k * step]), of_row, sums[k][v]);
        }
    }
    template <int64_t Count, int64_t Vectors>
    HWY_INLINE void change(const float *taken, int64_t i, float *state, int64_t row) const {
        Floats h[Count][Vectors];
        for (int64_t k = 0; k < Count; ++k)
            for (int64_t v = 0; v < Vectors; ++v) {
                const Floats before = hn::LoadU(floats, state + (i + k) * row + v * lanes);
                h[k][v] = hn::MulAdd(set(lost_), before, before);
            }
        for (int64_t s = 0; s < chunk; ++s) add_row(h, key_ + s * stride_ + i, 1, taken + s * Vectors * lanes);
        for (int64_t k = 0; k < Count; ++k)
            for (int64_t v = 0; v < Vectors; ++v) hn::StoreU(h[k][v], floats, state + (i + k) * row + v * lanes);
    }

    const float *query_, *key_, *value_;
    float *y_;
    int64_t stride_, y_stride_, rows_;
    float lost_;
    std::array<float, chunk> left_, taken_;
    std::array<std::array<float, chunk>, chunk> own_; // of a token, of itself and earlier ones
};

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
    int64_t t = 0, first = 0;
    for (; t + chunk <= tokens.count && columns >= lanes; t += chunk) {
        const Chunk of_chunk(tokens, t);
        for (first = 0; first + 2 * lanes <= columns; first += 2 * lanes) of_chunk.apply<2>(first, state + first, row);
        if (first + lanes <= columns) of_chunk.apply<1>(first, state + first, row);
    }
    for (first = 0; first + together * lanes <= columns; first += together * lanes)
        scan<together>(tokens, t, first, state + first, row);
    for (; first + lanes <= columns; first += lanes) scan<1>(tokens, t, first, state + first, row);
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
