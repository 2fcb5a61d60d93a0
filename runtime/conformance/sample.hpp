// Which rows of a large result are compared with the reference (LAMINA_BY_ROWS).
#pragma once

#include "abi/call.hpp"

#include <vector>

namespace lamina::conformance {

// So many rows of every output of a call, ascending: the first and the last, the last of every batch entry, those on
// both sides of powers of two, and random ones. All rows if there are no more.
[[nodiscard]] std::vector<int64_t> sample_of(const abi::LayerCall &call, size_t count);

// The same for a call that is made several times, such as for every token of a text: so many rows of all runs together,
// by run. Most runs have none, because each that has some takes its time: the first and the last, and others between.
[[nodiscard]] std::vector<std::vector<int64_t>> sample_of_runs(const abi::LayerCall &call, size_t runs, size_t count);

// How many rows the reference computes with so much work: from 8 to 256.
[[nodiscard]] int64_t affordable_rows(const abi::LayerCall &call, double most_work);

// These rows of a tensor.
[[nodiscard]] Tensor pick_rows(const Tensor &all, std::span<const int64_t> rows);
// Replaces these rows of `to` by those of a tensor of the same type.
void put_rows(const Tensor &from, std::span<const int64_t> rows, Tensor &to);

} // namespace lamina::conformance
