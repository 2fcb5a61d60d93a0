// The product of two matrices by OpenBLAS: a yardstick for kernels.
#pragma once

#include <cstdint>
#include <optional>

#include <lamina/measure.hpp>

namespace lamina::measure {

// y (m, n) = x (m, k) * transpose(w (n, k)), in F32, with all threads. Nothing if OpenBLAS is not installed or the
// sizes do not fit its integers.
[[nodiscard]] std::optional<Spread> openblas_product(int64_t m, int64_t n, int64_t k, double seconds);

} // namespace lamina::measure
