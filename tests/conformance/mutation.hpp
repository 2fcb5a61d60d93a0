// For tests of the harness: results with the errors that kernels typically make. The harness must catch them all.
#pragma once

#include "conformance/case_graph.hpp"
#include "conformance/verdict.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lamina::conformance {

struct MutationResult {
    std::string mutation; // "two blocks of columns swapped", "'out_bias' left out"
    enum class Outcome { unchanged, caught, missed } outcome = Outcome::unchanged;
    Verdict verdict; // on the mutated result
};

// Computes a case: with the reference, or with a kernel on a device.
struct Computer {
    std::function<std::vector<Tensor>(const CaseGraph &)> compute;
    bool exact = true; // whether it is the reference
};

// The results of one case, made wrong in every way and compared with the reference's.
//
// Wrong results: all zeros, the last row never written (NaN) or left from the row before, every row shifted by one, the
// last 16 columns zero, two blocks of columns swapped, a row's sign flipped, everything scaled by 1 + 10 rtol, one
// element off by ten times its tolerance, one NaN, one infinity.
//
// Wrong layers: an optional port ignored, an I32 input off by one (lengths, positions, masks), a boolean inverted (the
// causal mask forgotten), another choice, the upper and lower half of a weight's rows swapped (heads).
//
// A mutation that changes nothing beyond rounding (1e-6 of a row's largest value; for a kernel's results, twice the
// tolerance) is `unchanged`: for example the sign of a row of zeros, or the bias of attention's keys, which softmax
// cancels. So is a row in another's place if the right rows agree with each other within the tolerance.
[[nodiscard]] std::vector<MutationResult> try_mutations(const std::shared_ptr<const abi::Registry> &plugins,
                                                        const abi::Layer &layer, const Case &c,
                                                        const Computer &computer);
// Of the reference's own results.
[[nodiscard]] std::vector<MutationResult> try_mutations(const std::shared_ptr<const abi::Registry> &plugins,
                                                        const abi::Layer &layer, const Case &c);

// Whether a layer has results that are modified: indices are compared exactly.
[[nodiscard]] bool gives_floats(const abi::Layer &layer);

} // namespace lamina::conformance
