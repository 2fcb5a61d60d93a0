// The values of a conformance case's tensors: seeded, signed, and of the classes that kernels fail on.
#pragma once

#include "proof/case.hpp"

#include <optional>
#include <utility>

namespace lamina::proof {

// A tensor of this class of values. Weights are scaled by 1/sqrt(columns) where they are matrices, so that what a layer
// computes neither grows nor fades. `range` is for I32: lowest <= value < highest.
[[nodiscard]] Tensor make_values(const TensorType &type, Values values, bool weight,
                                 std::optional<std::pair<int64_t, int64_t>> range, uint64_t seed,
                                 std::string_view port);

} // namespace lamina::proof
