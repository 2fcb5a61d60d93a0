// What strips.cpp calls, for the instruction set at hand: files of their own for blocks of 32 and of 256 values, since
// they take long to compile.
#pragma once

#include "strips.hpp"

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

struct StripKernels {
    RowsForm (*form)(uint32_t dtype, int digits);
    void (*add_products)(const StripProduct &product, float *y, int64_t step);
    void (*widen)(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step);
};
StripKernels strips_of_32();
StripKernels strips_of_256();

} // namespace lamina::plugin::cpu_fallback
