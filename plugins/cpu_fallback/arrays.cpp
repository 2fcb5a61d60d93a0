// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "arrays.hpp"

#include <lamina/plugin/product_numbers.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "arrays.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {
HWY_INLINE Floats set(float v) { return hn::Set(floats, v); }

// The last values of an array may be fewer than a vector has lanes; zeros follow.
HWY_INLINE Floats load(const float *at, int64_t left) {
    if (left >= lanes) return hn::LoadU(floats, at);
    float last[lanes] = {};
    std::copy_n(at, left, last);
    return hn::LoadU(floats, last);
}
HWY_INLINE void store(Floats v, float *at, int64_t left) {
    if (left >= lanes) return hn::StoreU(v, floats, at);
    float last[lanes];
    hn::StoreU(v, floats, last);
    std::copy_n(last, left, at);
}
// Zero in the lanes behind the last value.
HWY_INLINE Floats only(Floats v, int64_t left) {
    return left >= lanes ? v : hn::IfThenElseZero(hn::FirstN(floats, static_cast<size_t>(left)), v);
}

// The sum of f(index) over an array, for f that returns a vector. Rounding errors grow with the length of a sum in
// floats, so sums of 64 vectors are added up in double.
template <class F> HWY_INLINE double sum(int64_t n, F &&f) {
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += 64 * lanes) {
        Floats part = hn::Zero(floats);
        for (int64_t i = begin; i < std::min(n, begin + 64 * lanes); i += lanes)
            part = hn::Add(part, only(f(i), n - i));
        total += hn::GetLane(hn::SumOfLanes(floats, part));
    }
    return total;
}

// Replaces each value by f(value).
template <class F> HWY_INLINE void map(float *values, int64_t n, F &&f) {
    for (int64_t i = 0; i < n; i += lanes) {
        const Floats v = load(values + i, n - i);
        store(hn::IfThenElse(hn::IsNaN(v), v, f(v)), values + i, n - i);
    }
}

// erfc(|x| / sqrt(2)) / 2, to 1e-7 (Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26).
HWY_INLINE Floats half_erfc(Floats x) {
    const Floats z = hn::Mul(hn::Abs(x), set(1 / std::numbers::sqrt2_v<float>));
    const Floats t = hn::Div(set(1), hn::MulAdd(z, set(0.3275911F), set(1)));
    Floats polynomial = set(1.061405429F);
    for (const float c : {-1.453152027F, 1.421413741F, -0.284496736F, 0.254829592F})
        polynomial = hn::MulAdd(polynomial, t, set(c));
    return hn::Mul(hn::Mul(hn::Mul(polynomial, t), set(0.5F)), hn::Exp(floats, hn::Neg(hn::Mul(z, z))));
}

// Below this, gates leave nothing of a value, and of -infinity they would leave what is no number.
HWY_INLINE Floats near(Floats v) { return hn::Max(v, set(-1000)); }
HWY_INLINE Floats relu(Floats v) { return hn::Max(v, hn::Zero(floats)); }
HWY_INLINE Floats gelu(Floats v) {
    // Far from zero the second factor is 0, and infinity times 0 would be NaN.
    const Floats tail = hn::Mul(hn::Min(hn::Abs(v), set(1e30F)), half_erfc(v));
    return hn::Sub(relu(v), tail);
}
HWY_INLINE Floats gelu_tanh(Floats v) {
    const Floats cubic = hn::MulAdd(hn::Mul(hn::Mul(v, v), v), set(0.044715F), v);
    const Floats tanh = hn::Tanh(floats, hn::Mul(cubic, set(std::sqrt(2 / std::numbers::pi_v<float>))));
    return hn::Mul(hn::Mul(near(v), set(0.5F)), hn::Add(set(1), tanh));
}
// v / (1 + exp(-factor * v)). exp() must not overflow; what is left of v / exp(87) is nothing.
HWY_INLINE Floats swish(Floats v, float factor) {
    return hn::Div(near(v), hn::Add(set(1), hn::Exp(floats, hn::Min(hn::Mul(v, set(-factor)), set(87)))));
}
HWY_INLINE Floats sigmoid(Floats v) {
    return hn::Div(set(1), hn::Add(set(1), hn::Exp(floats, hn::Min(hn::Neg(v), set(87)))));
}

// y = (x - shift - mean) * factor * weight + bias + added.
HWY_INLINE void finish_norm(const float *x, int64_t n, float shift, float mean, float factor, const NormOutput &out) {
    for (int64_t i = 0; i < n; i += lanes) {
        const int64_t left = n - i;
        Floats v = hn::Mul(hn::Sub(hn::Sub(load(x + i, left), set(shift)), set(mean)), set(factor));
        if (out.weight != nullptr) v = hn::Mul(v, hn::Add(load(out.weight + i, left), set(out.weight_offset)));
        if (out.bias != nullptr) v = hn::Add(v, load(out.bias + i, left));
        if (out.added != nullptr) v = hn::Add(v, load(out.added + i, left));
        store(v, out.y + i, left);
    }
}

} // namespace

HWY_ATTR void activate(uint32_t activation, float *values, int64_t n) {
    switch (activation) {
    case LAMINA_RELU:
        return map(values, n, [](Floats v) HWY_ATTR { return relu(v); });
    case LAMINA_GELU:
        return map(values, n, [](Floats v) HWY_ATTR { return gelu(v); });
    case LAMINA_GELU_TANH:
        return map(values, n, [](Floats v) HWY_ATTR { return gelu_tanh(v); });
    case LAMINA_SILU:
        return map(values, n, [](Floats v) HWY_ATTR { return swish(v, 1); });
    case LAMINA_TANH:
        return map(values, n, [](Floats v) HWY_ATTR { return hn::Tanh(floats, v); });
    case LAMINA_QUICK_GELU:
        return map(values, n, [](Floats v) HWY_ATTR { return swish(v, 1.702F); });
    case LAMINA_SIGMOID:
        return map(values, n, [](Floats v) HWY_ATTR { return sigmoid(v); });
    case LAMINA_RELU2:
        return map(values, n, [](Floats v) HWY_ATTR { return hn::Mul(relu(v), relu(v)); });
    default: // LAMINA_NONE
        return;
    }
}

HWY_ATTR void softplus(float *values, int64_t n) {
    // Below -87 nothing is left of the exponential, and a smaller one would be subnormal.
    map(values, n, [](Floats v) HWY_ATTR {
        const Floats below = hn::Max(hn::Neg(hn::Abs(v)), set(-87));
        return hn::Add(relu(v), hn::Log1p(floats, hn::Exp(floats, below)));
    });
}

HWY_ATTR void multiply(float *values, const float *by, int64_t n) {
    for (int64_t i = 0; i < n; i += lanes)
        store(hn::Mul(load(values + i, n - i), load(by + i, n - i)), values + i, n - i);
}

HWY_ATTR float greatest(const float *values, int64_t n) {
    const Floats least = set(std::numeric_limits<float>::lowest());
    Floats out = least;
    for (int64_t i = 0; i < n; i += lanes) {
        const Floats v = load(values + i, n - i);
        out =
            hn::Max(out, n - i >= lanes ? v : hn::IfThenElse(hn::FirstN(floats, static_cast<size_t>(n - i)), v, least));
    }
    return hn::GetLane(hn::MaxOfLanes(floats, out));
}

HWY_ATTR double exponentials(float *values, int64_t n, float shift) {
    return sum(n, [&](int64_t i) HWY_ATTR {
        const Floats v = hn::Sub(load(values + i, n - i), set(shift));
        const Floats e = hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(floats, v));
        store(e, values + i, n - i);
        return e;
    });
}

HWY_ATTR void scale(float *values, int64_t n, float factor) {
    map(values, n, [=](Floats v) HWY_ATTR { return hn::Mul(v, set(factor)); });
}

// The polynomials of shaders/common/sinusoid.glsl.
HWY_ATTR void sines_and_cosines(const uint32_t *phases, int64_t n, float *sines, float *cosines) {
    constexpr hn::Rebind<uint32_t, decltype(floats)> words;
    constexpr hn::Rebind<int32_t, decltype(floats)> integers;
    const auto bit = [=](auto v, uint32_t b)
                         HWY_ATTR { return hn::RebindMask(floats, hn::TestBit(v, hn::Set(words, b))); };
    for (int64_t i = 0; i < n; i += lanes) {
        uint32_t some[lanes] = {};
        std::copy_n(phases + i, std::min(lanes, n - i), some);
        const auto p = hn::ShiftRight<5>(hn::Add(hn::LoadU(words, some), hn::Set(words, 16)));
        const auto quarter = hn::ShiftRight<25>(hn::Add(p, hn::Set(words, 1U << 24U))); // the nearest, 0 to 4
        const auto rest = hn::BitCast(integers, hn::Sub(p, hn::ShiftLeft<25>(quarter)));
        const Floats t = hn::Mul(hn::ConvertTo(floats, rest), set(0x1p-24F)); // in eighths of a turn, -1 to 1
        const Floats u = hn::Mul(t, t);
        Floats s = set(-3.55940028e-05F), c = set(3.49026232e-06F);
        for (const float factor : {0.00248939241F, -0.0807451382F, 0.785398126F}) s = hn::MulAdd(s, u, set(factor));
        for (const float factor : {-0.000325863133F, 0.0158542823F, -0.308425128F, 1.0F})
            c = hn::MulAdd(c, u, set(factor));
        s = hn::Mul(s, t);
        const auto odd = bit(quarter, 1);
        const Floats sine = hn::IfThenElse(odd, c, s), cosine = hn::IfThenElse(odd, s, c);
        store(hn::IfThenElse(bit(quarter, 2), hn::Neg(sine), sine), sines + i, n - i);
        store(hn::IfThenElse(bit(hn::Add(quarter, hn::Set(words, 1)), 2), hn::Neg(cosine), cosine), cosines + i, n - i);
    }
}

// Subtracting the first value keeps rows accurate whose mean is large.
HWY_ATTR void layer_norm_row(const float *x, int64_t n, double eps, const NormOutput &out) {
    const Floats shift = set(x[0]);
    const auto shifted = [&](int64_t i) HWY_ATTR { return hn::Sub(load(x + i, n - i), shift); };
    const auto mean = static_cast<float>(sum(n, shifted) / static_cast<double>(n));
    const double squares = sum(n, [&](int64_t i) HWY_ATTR {
        const Floats v = hn::Sub(shifted(i), set(mean));
        return hn::Mul(v, v);
    });
    const double deviation = std::sqrt(squares / static_cast<double>(n) + eps);
    finish_norm(x, n, x[0], mean, static_cast<float>(1 / deviation), out);
}

HWY_ATTR void rms_norm_row(const float *x, int64_t n, double eps, const NormOutput &out) {
    const double squares = sum(n, [&](int64_t i) HWY_ATTR {
        const Floats v = load(x + i, n - i);
        return hn::Mul(v, v);
    });
    finish_norm(x, n, 0, 0, static_cast<float>(1 / std::sqrt(squares / static_cast<double>(n) + eps)), out);
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(activate);
HWY_EXPORT(softplus);
HWY_EXPORT(multiply);
HWY_EXPORT(greatest);
HWY_EXPORT(exponentials);
HWY_EXPORT(scale);
HWY_EXPORT(sines_and_cosines);
HWY_EXPORT(layer_norm_row);
HWY_EXPORT(rms_norm_row);

void activate(uint32_t activation, float *values, int64_t n) { HWY_DYNAMIC_DISPATCH(activate)(activation, values, n); }
void softplus(float *values, int64_t n) { HWY_DYNAMIC_DISPATCH(softplus)(values, n); }
void multiply(float *values, const float *by, int64_t n) { HWY_DYNAMIC_DISPATCH(multiply)(values, by, n); }
float greatest(const float *values, int64_t n) { return HWY_DYNAMIC_DISPATCH(greatest)(values, n); }
double exponentials(float *values, int64_t n, float shift) {
    return HWY_DYNAMIC_DISPATCH(exponentials)(values, n, shift);
}
void scale(float *values, int64_t n, float factor) { HWY_DYNAMIC_DISPATCH(scale)(values, n, factor); }
void sines_and_cosines(const uint32_t *phases, int64_t n, float *sines, float *cosines) {
    HWY_DYNAMIC_DISPATCH(sines_and_cosines)(phases, n, sines, cosines);
}
void layer_norm_row(const float *x, int64_t n, double eps, const NormOutput &out) {
    HWY_DYNAMIC_DISPATCH(layer_norm_row)(x, n, eps, out);
}
void rms_norm_row(const float *x, int64_t n, double eps, const NormOutput &out) {
    HWY_DYNAMIC_DISPATCH(rms_norm_row)(x, n, eps, out);
}

} // namespace lamina::plugin::cpu_fallback
#endif
