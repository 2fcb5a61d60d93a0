#include "strips.hpp"

#include "strip_kernels.hpp"

#include <lamina/plugin/dtype.hpp>

#include "simd_targets.hpp"
#include <hwy/targets.h>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr uint32_t dtypes_of_32 = [] {
    uint32_t bits = 0;
    for (const StorageType &type : storage_types)
        if (type.block_values == 32) bits |= type.dtype;
    return bits;
}();

// Asked for each strip: looking the dtype up in the table would take a part of the time that a short strip takes.
StripKernels kernels_of(uint32_t dtype) { return (dtype & dtypes_of_32) != 0 ? strips_of_32() : strips_of_256(); }

} // namespace

bool has_dot_products() {
#if HWY_ARCH_X86
    static const bool has = (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; // it asks the processor, which takes long
    return has;
#else
    return false;
#endif
}

// Where there are no dot products, floats are multiplied faster than three digits, once there are enough rows to make
// up for unpacking weights that far.
int fastest_digits(int digits, int64_t rows) {
    return multiplies_floats() && !has_dot_products() && digits > 2 && rows >= some_together ? 0 : digits;
}

RowsForm rows_form(uint32_t dtype, int digits) { return kernels_of(dtype).form(dtype, digits); }

void add_strip_products(const StripProduct &product, float *y, int64_t step) {
    kernels_of(product.dtype).add_products(product, y, step);
}

void widen_strip(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step) {
    kernels_of(dtype).widen(dtype, strip, first, values, out, step);
}

} // namespace lamina::plugin::cpu_fallback
