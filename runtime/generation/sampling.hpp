// Draws a random token.
#pragma once

#include <lamina/lamina.hpp>

#include <cstdint>
#include <span>

namespace lamina::generation {

// A number in [0, 1) that depends only on the arguments, so that a text is sampled in the same way in every batch and
// on every platform.
[[nodiscard]] double uniform(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step);

// The token at `chance` of the distribution softmax(log_probabilities / temperature), cut to the top_k most likely and
// then to the fewest that together reach top_p.
[[nodiscard]] int32_t draw(std::span<const double> log_probabilities, const GenerateOptions &options, double chance);

} // namespace lamina::generation
