// The vectors of floats that SIMD code computes with. Included once for each instruction set, by way of
// foreach_target.h.
#if defined(LAMINA_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_VECTORS_INL_HPP
#undef LAMINA_VECTORS_INL_HPP
#else
#define LAMINA_VECTORS_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 16> floats;
constexpr int64_t lanes = hn::MaxLanes(floats); // vectors are stored in arrays, so this is known at compile time
using Floats = hn::Vec<decltype(floats)>;

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
