// Conformance cases made up from a layer's contract alone: the shapes, options and values that its author did not think
// of.
#pragma once

#include "conformance/case.hpp"

#include <vector>

namespace lamina::conformance {

struct GeneratorOptions {
    size_t count = 24; // at least; every combination of optional ports that has its turn is drawn
    uint64_t seed = 1;
    double work = 2e6;  // the most multiplications that a case may cost, about
    bool large = false; // sizes of thousands, too
};

struct GeneratedCases {
    std::vector<Case> cases;
    size_t refused = 0; // combinations that the layer itself refused, drawn again
    size_t too_large = 0;
};

// Sizes are one below, at and above what kernels tile by, and primes; sizes that a product multiplies are head dims
// from 8 to 256. No optional port, all of them, each alone and each with all states come first, then random ones; every
// dtype of weights and every choice has its turn. Classes of values that can make a layer ill-conditioned (offset,
// large, huge) are taken for ports that the layer's own cases name them for.
[[nodiscard]] GeneratedCases generate_cases(const abi::Layer &layer, const GeneratorOptions &options);

} // namespace lamina::conformance
