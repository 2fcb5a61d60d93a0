// Strips whose blocks have 32 values. Compiled once for each SIMD instruction set: foreach_target.h includes this file
// again for each of them.
#include "matrix.hpp"
#include "strip_kernels.hpp"

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strips_of_32.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "strip_floats-inl.hpp"
#include "strip_products-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

using Formats = AnyOf<Entry<LAMINA_Q8_0, Q8_0>, Entry<LAMINA_Q4_0, Q4_0>, Entry<LAMINA_Q4_1, Q4_1>,
                      Entry<LAMINA_Q5_0, Q5_0>, Entry<LAMINA_Q5_1, Q5_1>, Entry<LAMINA_IQ4_NL, IQ4_NL>>;

} // namespace

HWY_ATTR RowsForm form_of_32(uint32_t dtype, int digits) { return form_for<Formats>(dtype, digits); }
HWY_ATTR void add_products_of_32(const StripProduct &product, float *y, int64_t step) {
    add_any_products<Formats>(product, y, step);
}
HWY_ATTR void widen_strip_of_32(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out,
                                int64_t step) {
    widen_any_strip<Formats>(dtype, strip, first, values, out, step);
}

// Measured on Zen 4, against floats: three digits are multiplied 1.25 times as fast in the dtypes whose blocks need the
// least unpacking, and no faster in the others; two digits 1.3 to 1.8 times, one digit 2 to 3 times.
HWY_ATTR bool strips_suit_many([[maybe_unused]] uint32_t dtype, int digits) {
#if HWY_TARGET == HWY_AVX3
    constexpr uint32_t fast = LAMINA_Q4_0 | LAMINA_Q4_1 | LAMINA_Q8_0 | LAMINA_IQ4_NL | LAMINA_IQ4_XS;
    if (has_dot_products()) return digits < 3 || (dtype & fast) != 0;
#endif
    return digits < 2;
}

HWY_ATTR bool has_fused_multiply_adds() { return HWY_NATIVE_FMA != 0; }

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(form_of_32);
HWY_EXPORT(add_products_of_32);
HWY_EXPORT(widen_strip_of_32);

StripKernels strips_of_32() {
    return {HWY_DYNAMIC_DISPATCH(form_of_32), HWY_DYNAMIC_DISPATCH(add_products_of_32),
            HWY_DYNAMIC_DISPATCH(widen_strip_of_32)};
}

HWY_EXPORT(has_fused_multiply_adds);
bool multiplies_floats() { return HWY_DYNAMIC_DISPATCH(has_fused_multiply_adds)(); }

HWY_EXPORT(strips_suit_many);
bool digits_suit_many(uint32_t dtype, int digits) { return HWY_DYNAMIC_DISPATCH(strips_suit_many)(dtype, digits); }

} // namespace lamina::plugin::cpu_fallback
#endif
