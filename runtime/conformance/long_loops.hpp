// Cases in which an invocation runs so many rounds of its loops that a driver may end them: interpreter::most_rounds.
#pragma once

#include "conformance/case.hpp"
#include "plan/device.hpp"

#include <memory>
#include <string>
#include <vector>

namespace lamina::conformance {

struct LongLoops {
    std::vector<Case> cases;
    // For each dim from a size on which there are that many rounds, though no case is so large: "from N=262145 on
    // (with K=8), an invocation of kernel 'k' runs more than 65535 rounds of loops; no case is so large". Smaller sizes
    // are safe.
    std::vector<std::string> out_of_reach;
};

// Interprets small cases of two sizes of each dim, and counts. What the rounds grow by from one to the other, they grow
// by again and again: a kernel whose loops grow otherwise is not foreseen.
[[nodiscard]] LongLoops long_loops(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer,
                                   const std::vector<plan::Variant> &variants, uint64_t seed);

} // namespace lamina::conformance
