// The values of a conformance case's tensors: seeded, signed, and of the classes that kernels fail on.
#pragma once

#include "conformance/case.hpp"

#include <cstdint>
#include <string_view>

namespace lamina::conformance {

// A range of more values than this is met by chance at few of its interesting ones.
inline constexpr int64_t wide_range = 4096;

struct Range { // of I32: lowest <= value < end
    int64_t lowest = INT32_MIN, end = int64_t{1} << 31;
    int64_t cache = 0; // the capacity of the call's states; 0: it has none. A wide range is one of positions in it.
};

// A tensor of this class of values. Weights are scaled by 1/sqrt(columns) where they are matrices, so that what a layer
// computes neither grows nor fades.
[[nodiscard]] Tensor make_values(const TensorType &type, Values values, bool weight, const Range &range, uint64_t seed,
                                 std::string_view port);

} // namespace lamina::conformance
