// Which rows of a large result are compared with the reference (LAMINA_BY_ROWS).
#pragma once

#include "abi/call.hpp"

#include <vector>

namespace lamina::conformance {

// The number of rows of the longest output of a call.
[[nodiscard]] int64_t most_rows_of(const abi::LayerCall &call);

// So many rows of every output of a call, ascending: the first and the last, the last of every batch entry, those on
// both sides of powers of two, and random ones. All rows if there are no more.
[[nodiscard]] std::vector<int64_t> sample_of(const abi::LayerCall &call, size_t count);

// How many rows the reference computes with so much work: from 4 to 256.
[[nodiscard]] int64_t affordable_rows(const abi::LayerCall &call, double most_work);

// These rows of a tensor.
[[nodiscard]] Tensor pick_rows(const Tensor &all, std::span<const int64_t> rows);

} // namespace lamina::conformance
