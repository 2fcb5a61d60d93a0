// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "wkv7_columns.hpp"

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wkv7_columns.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr int64_t together = 4; // vectors of columns

HWY_INLINE Floats set(float v) { return hn::Set(floats, v); }

// One token in `Vectors` vectors of columns. y is computed from the memory as it
// was: the new one is read by no one until the next token.
template <int64_t Vectors>
HWY_INLINE void step(const Wkv7Tokens &tokens, int64_t t, int64_t first, float *memory, int64_t row) {
    const int64_t keys = t * tokens.stride, values = t * tokens.y_stride + first;
    const float *const query = tokens.faded_query + keys, *const old = tokens.old + keys;
    Floats read[Vectors], before[Vectors], value[Vectors];
    for (int64_t v = 0; v < Vectors; ++v) read[v] = before[v] = hn::Zero(floats);
    for (int64_t i = 0; i < tokens.key_dim; ++i)
        for (int64_t v = 0; v < Vectors; ++v) {
            const Floats m = hn::LoadU(floats, memory + i * row + v * lanes);
            read[v] = hn::MulAdd(set(query[i]), m, read[v]);
            before[v] = hn::MulAdd(set(old[i]), m, before[v]);
        }
    const Floats by_replaced = set(tokens.by_replaced[t * tokens.sum_stride]),
                 by_key = set(tokens.by_key[t * tokens.sum_stride]);
    for (int64_t v = 0; v < Vectors; ++v) {
        value[v] = hn::LoadU(floats, tokens.value + values + v * lanes);
        hn::StoreU(hn::MulAdd(by_key, value[v], hn::NegMulAdd(by_replaced, before[v], read[v])), floats,
                   tokens.y + values + v * lanes);
    }
    const float *const fade = tokens.fade + keys, *const replaced = tokens.replaced + keys,
                       *const key = tokens.key + keys;
    for (int64_t i = 0; i < tokens.key_dim; ++i)
        for (int64_t v = 0; v < Vectors; ++v) {
            float *const at = memory + i * row + v * lanes;
            const Floats faded = hn::Mul(set(fade[i]), hn::LoadU(floats, at));
            hn::StoreU(hn::MulAdd(set(key[i]), value[v], hn::NegMulAdd(set(replaced[i]), before[v], faded)), floats,
                       at);
        }
}

// The same in a column alone.
void step_alone(const Wkv7Tokens &tokens, int64_t t, int64_t column, float *memory, int64_t row) {
    const int64_t keys = t * tokens.stride, at = t * tokens.y_stride + column, sum = t * tokens.sum_stride;
    const float value = tokens.value[at];
    float read = 0, before = 0;
    for (int64_t i = 0; i < tokens.key_dim; ++i) {
        read += tokens.faded_query[keys + i] * memory[i * row];
        before += tokens.old[keys + i] * memory[i * row];
    }
    tokens.y[at] = read - tokens.by_replaced[sum] * before + tokens.by_key[sum] * value;
    for (int64_t i = 0; i < tokens.key_dim; ++i)
        memory[i * row] =
            tokens.fade[keys + i] * memory[i * row] - tokens.replaced[keys + i] * before + tokens.key[keys + i] * value;
}

} // namespace

HWY_ATTR void wkv7_columns(const Wkv7Tokens &tokens, float *memory, int64_t row, int64_t columns) {
    int64_t first = 0;
    for (; first + together * lanes <= columns; first += together * lanes)
        for (int64_t t = 0; t < tokens.count; ++t) step<together>(tokens, t, first, memory + first, row);
    for (; first + lanes <= columns; first += lanes)
        for (int64_t t = 0; t < tokens.count; ++t) step<1>(tokens, t, first, memory + first, row);
    for (; first < columns; ++first)
        for (int64_t t = 0; t < tokens.count; ++t) step_alone(tokens, t, first, memory + first, row);
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(wkv7_columns);

void wkv7_columns(const Wkv7Tokens &tokens, float *memory, int64_t row, int64_t columns) {
    HWY_DYNAMIC_DISPATCH(wkv7_columns)(tokens, memory, row, columns);
}

} // namespace lamina::plugin::cpu_fallback
#endif
