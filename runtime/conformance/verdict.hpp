// Tolerances, and sums of verdicts (proof.hpp).
#pragma once

#include <lamina/proof.hpp>

namespace lamina::conformance {

// The tolerance that a layer declares for this arithmetic. It exists, because the descriptor was checked.
[[nodiscard]] lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic);

// Adds `one` to the verdict over several tensors, which begins as Verdict{}. It passes if all pass, and has the worst
// element of all. Returns whether that element is from `one`.
bool add(Verdict &all, const Verdict &one);

} // namespace lamina::conformance
