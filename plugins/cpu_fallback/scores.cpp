// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "scores.hpp"

#include <algorithm>
#include <limits>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

HWY_INLINE Floats set(float v) { return hn::Set(floats, v); }
HWY_INLINE Floats load(const Scores &scores, int64_t at) {
    const Floats x = hn::LoadU(floats, scores.x + at);
    return scores.bias == nullptr ? x : hn::Add(x, hn::LoadU(floats, scores.bias + at));
}

// The last scores may be fewer than a vector has lanes; -infinity follows.
HWY_INLINE Floats load(const Scores &scores, int64_t at, int64_t n) {
    if (at + lanes <= n) return load(scores, at);
    float last[lanes];
    for (int64_t i = 0; i < lanes; ++i) last[i] = at + i < n ? scores[at + i] : -infinity;
    return hn::LoadU(floats, last);
}

HWY_INLINE Floats greater(Floats v, Floats than) { return hn::IfThenElse(hn::Gt(v, than), v, than); }

// exp() is defined where floats are, so what is less counts as nothing.
HWY_INLINE Floats exponential(Floats v, Floats shift) {
    const Floats below = hn::Sub(v, shift);
    const Floats e = hn::IfThenElseZero(hn::Gt(below, set(-87)), hn::Exp(floats, hn::Max(below, set(-87))));
    return hn::IfThenElse(hn::Or(hn::IsNaN(v), hn::Eq(v, set(infinity))), set(std::numeric_limits<float>::quiet_NaN()),
                          e);
}

} // namespace

HWY_ATTR void block_maxima(const Scores &scores, int64_t n, float *maxima) {
    for (int64_t begin = 0; begin < n; begin += block_scores) {
        const int64_t end = std::min(n, begin + block_scores);
        Floats most = set(std::numeric_limits<float>::lowest());
        for (int64_t i = begin; i < end; i += lanes) most = greater(load(scores, i, n), most);
        *maxima++ = hn::GetLane(hn::MaxOfLanes(floats, most));
    }
}

// As in arrays.cpp, sums of a few vectors are added up in double. Two of them at a time, because each addition waits
// for the one before.
HWY_ATTR double sum_of_exponentials(const Scores &scores, int64_t n, float shift) {
    const Floats shifts = set(shift);
    constexpr int64_t step = 2 * lanes;
    double total = 0;
    int64_t i = 0;
    while (i + step <= n) {
        Floats even = hn::Zero(floats), odd = hn::Zero(floats);
        for (const int64_t end = std::min(n, i + 64 * step); i + step <= end; i += step) {
            even = hn::Add(even, exponential(load(scores, i), shifts));
            odd = hn::Add(odd, exponential(load(scores, i + lanes), shifts));
        }
        total += hn::GetLane(hn::SumOfLanes(floats, hn::Add(even, odd)));
    }
    for (; i < n; i += lanes) total += hn::GetLane(hn::SumOfLanes(floats, exponential(load(scores, i, n), shifts)));
    return total;
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(block_maxima);
HWY_EXPORT(sum_of_exponentials);

void block_maxima(const Scores &scores, int64_t n, float *maxima) {
    HWY_DYNAMIC_DISPATCH(block_maxima)(scores, n, maxima);
}
double sum_of_exponentials(const Scores &scores, int64_t n, float shift) {
    return HWY_DYNAMIC_DISPATCH(sum_of_exponentials)(scores, n, shift);
}

} // namespace lamina::plugin::cpu_fallback
#endif
