// Generates the values of a conformance case's tensors from a seed, in classes that tend to break kernels.
#pragma once

#include "conformance/case.hpp"

#include <cstdint>
#include <string_view>

namespace lamina::conformance {

// In a range with more values than this, a random value is rarely an interesting one.
inline constexpr int64_t wide_range = 4096;

struct Range { // of I32: lowest <= value < end
    int64_t lowest = INT32_MIN, end = int64_t{1} << 31;
    int64_t cache = 0; // capacity of the call's states, or 0. A wide range then holds positions in the cache.
};

// A tensor of this class of values. Weight matrices are scaled by 1/sqrt(columns), so that results are about as large
// as inputs. More than a million values repeat: a prime number of rows, over and over.
[[nodiscard]] Tensor make_values(const TensorType &type, Values values, bool weight, const Range &range, uint64_t seed,
                                 std::string_view port);

} // namespace lamina::conformance
