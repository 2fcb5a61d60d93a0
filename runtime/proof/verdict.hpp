// What verdicts (proof.hpp) are made with, and of.
#pragma once

#include <lamina/proof.hpp>

namespace lamina::proof {

// The tolerance that a layer declares for products formed in this arithmetic. One exists: the descriptor was checked.
[[nodiscard]] lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic);

// The verdict over both: passed when both passed, with the worse of the two elements.
[[nodiscard]] Verdict joined(const Verdict &a, const Verdict &b);

} // namespace lamina::proof
