// Generates conformance cases from a layer's contract: the shapes, options and values that its author did not think of.
#pragma once

#include "conformance/case.hpp"

#include <map>
#include <string>
#include <vector>

namespace lamina::conformance {

struct GeneratorOptions {
    size_t count =
        24; // at least; more if there are more combinations to cover: of optional ports, or choices and dtypes
    uint64_t seed = 1;
    double work = 2e6;  // roughly the most multiplications that a case may cost
    bool large = false; // sizes of thousands, too
};

struct GeneratedCases {
    std::vector<Case> cases;
    size_t refused = 0; // combinations that the layer refused, and that were drawn again
    size_t too_large = 0;
};

// Sizes are typical tile sizes, one below and one above them, and primes. Factors of products in dims, such as head
// dims, are from 8 to 256. Each other dim is also large once, and each that is the length of a row once longer than
// 2^16 (or, as an axis of a matrix, 1025 in a large batch), while the rest are small. Optional ports: first none, all,
// each alone and each with all states, then random sets. Every dtype of weights and every choice gets its turn, and
// each choice meets each width of weights. Each real-valued input once has values of all magnitudes, which states keep
// as halves where they may. Values that can make a layer ill-conditioned (offset, large, huge) are used only for ports
// for which the layer's own cases use them.
[[nodiscard]] GeneratedCases generate_cases(const abi::Layer &layer, const GeneratorOptions &options);

// A case for each dim that is no factor of a product, in which this dim is 40 and may be changed, and others are small.
[[nodiscard]] std::map<std::string, Case> small_cases(const abi::Layer &layer, uint64_t seed);

} // namespace lamina::conformance
