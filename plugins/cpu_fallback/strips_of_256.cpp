// Strips whose blocks have 256 values. Compiled once for each SIMD instruction set: foreach_target.h includes this file
// again for each of them.
#include "matrix.hpp"
#include "strip_kernels.hpp"

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strips_of_256.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "strip_floats-inl.hpp"
#include "strip_products-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

using Formats =
    AnyOf<Entry<LAMINA_Q4_K, Q4_K>, Entry<LAMINA_Q5_K, Q5_K>, Entry<LAMINA_Q6_K, Q6_K>, Entry<LAMINA_Q2_K, Q2_K>,
          Entry<LAMINA_Q3_K, Q3_K>, Entry<LAMINA_IQ4_XS, IQ4_XS>, Entry<LAMINA_I8_K, I8_K>, Entry<LAMINA_I4_K, I4_K>>;

} // namespace

HWY_ATTR RowsForm form_of_256(uint32_t dtype, int digits) { return form_for<Formats>(dtype, digits); }
HWY_ATTR void add_products_of_256(const StripProduct &product, float *y, int64_t step) {
    add_any_products<Formats>(product, y, step);
}
HWY_ATTR void widen_strip_of_256(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out,
                                 int64_t step) {
    widen_any_strip<Formats>(dtype, strip, first, values, out, step);
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(form_of_256);
HWY_EXPORT(add_products_of_256);
HWY_EXPORT(widen_strip_of_256);

StripKernels strips_of_256() {
    return {HWY_DYNAMIC_DISPATCH(form_of_256), HWY_DYNAMIC_DISPATCH(add_products_of_256),
            HWY_DYNAMIC_DISPATCH(widen_strip_of_256)};
}

} // namespace lamina::plugin::cpu_fallback
#endif
