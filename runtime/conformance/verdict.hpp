// Tolerances, and sums of verdicts (proof.hpp).
#pragma once

#include <lamina/proof.hpp>

namespace lamina::conformance {

// The tolerance that a layer declares for this arithmetic. The descriptor check ensures that it exists.
[[nodiscard]] lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic);

// Adds `one` to a verdict over several tensors, which starts as Verdict{}. The sum passes if all pass, and reports the
// worst element of all. Returns whether that element is from `one`.
bool add(Verdict &all, const Verdict &one);

} // namespace lamina::conformance
