// Tolerances, and sums of verdicts (proof.hpp).
#pragma once

#include "abi/call.hpp"

#include <lamina/proof.hpp>

#include <span>
#include <vector>

namespace lamina::conformance {

// The tolerance that a layer declares for this arithmetic. The descriptor check ensures that it exists.
[[nodiscard]] lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic);
// The same for a call: of a fusion that computes what it keeps in a state narrower than f32, that for halves, because
// values near the middle between two of the state's are rounded to either.
[[nodiscard]] lamina_tolerance tolerance_of(const abi::LayerCall &call, uint32_t arithmetic);

// compare() of proof.hpp for a sample of the rows.
[[nodiscard]] Verdict compare_rows(const Tensor &got, const Tensor &expected, std::span<const int64_t> rows,
                                   const lamina_tolerance &tolerance, const std::string &name);

// The rows in which two tensors of the same type differ by more than half of what is allowed, at most `count`: those
// that differ most. Ascending.
[[nodiscard]] std::vector<int64_t> doubtful_rows(const Tensor &got, const Tensor &other,
                                                 const lamina_tolerance &tolerance, size_t count);

// Adds `one` to a verdict over several tensors, which starts as Verdict{}. The sum passes if all pass, and reports the
// worst element of all. Returns whether that element is from `one`.
bool add(Verdict &all, const Verdict &one);

} // namespace lamina::conformance
