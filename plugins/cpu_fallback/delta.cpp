// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "delta.hpp"

#include <algorithm>
#include <cmath>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delta.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr int64_t together = 4; // vectors: as many sums grow side by side, for the query and for the key
constexpr int64_t columns = together * lanes;
static_assert(delta_columns % columns == 0);

HWY_INLINE Floats set(float v) { return hn::Set(floats, v); }

HWY_INLINE float dot(const float *a, const float *b, int64_t n) {
    Floats sum = hn::Zero(floats);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) sum = hn::MulAdd(hn::LoadU(floats, a + i), hn::LoadU(floats, b + i), sum);
    float rest = 0;
    for (; i < n; ++i) rest += a[i] * b[i];
    return hn::GetLane(hn::SumOfLanes(floats, sum)) + rest;
}

// One token in `columns` columns. y is computed from the memory as it was: the new one is read by no one until the next
// token.
HWY_INLINE void step(const DeltaTokens &tokens, int64_t t, int64_t first, float *memory, int64_t row) {
    const int64_t n = tokens.key_dim;
    const float *const query = tokens.query + t * tokens.stride, *const key = tokens.key + t * tokens.stride,
                       *const value = tokens.value + t * tokens.stride + first;
    Floats by_query[together], by_key[together];
    for (int64_t v = 0; v < together; ++v) by_query[v] = by_key[v] = hn::Zero(floats);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t v = 0; v < together; ++v) {
            const Floats m = hn::LoadU(floats, memory + i * row + v * lanes);
            by_query[v] = hn::MulAdd(set(query[i]), m, by_query[v]);
            by_key[v] = hn::MulAdd(set(key[i]), m, by_key[v]);
        }
    const float fade = tokens.fade[t], share = tokens.share[t];
    const float of_query = 1 / std::sqrt((dot(query, query, n) + tokens.eps) * static_cast<float>(n));
    const float of_key = 1 / std::sqrt(dot(key, key, n) + tokens.eps);
    const float both = of_query * of_key * dot(query, key, n);
    Floats written[together];
    for (int64_t v = 0; v < together; ++v) {
        const Floats error = hn::NegMulAdd(set(fade * of_key), by_key[v], hn::LoadU(floats, value + v * lanes));
        const Floats correction = hn::Mul(set(share), error);
        hn::StoreU(hn::MulAdd(set(fade * of_query), by_query[v], hn::Mul(set(both), correction)), floats,
                   tokens.y + t * tokens.y_stride + first + v * lanes);
        written[v] = hn::Mul(set(of_key), correction);
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t v = 0; v < together; ++v) {
            float *const at = memory + i * row + v * lanes;
            hn::StoreU(hn::MulAdd(set(key[i]), written[v], hn::Mul(set(fade), hn::LoadU(floats, at))), floats, at);
        }
}

} // namespace

HWY_ATTR void delta_rule(const DeltaTokens &tokens, float *memory, int64_t row) {
    for (int64_t first = 0; first < delta_columns; first += columns)
        for (int64_t t = 0; t < tokens.count; ++t) step(tokens, t, first, memory + first, row);
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(delta_rule);

void delta_rule(const DeltaTokens &tokens, float *memory, int64_t row) {
    HWY_DYNAMIC_DISPATCH(delta_rule)(tokens, memory, row);
}

} // namespace lamina::plugin::cpu_fallback
#endif
