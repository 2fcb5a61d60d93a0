// What verdicts (proof.hpp) are made with, and of.
#pragma once

#include <lamina/proof.hpp>

namespace lamina::conformance {

// The tolerance that a layer declares for products formed in this arithmetic. One exists: the descriptor was checked.
[[nodiscard]] lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic);

// Adds `one` to the verdict over several tensors; over none yet it is Verdict{}. Passed when all passed, with the worst
// element of all; whether that is one of `one`.
bool add(Verdict &all, const Verdict &one);

} // namespace lamina::conformance
