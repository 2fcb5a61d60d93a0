// How fast scores fall with the distance of a key (ALiBi: Press et al., arXiv:2108.12409).
#pragma once

#include "model/weights.hpp"

#include <cstdint>

namespace lamina::architectures {

// Of each head: 2^(-exponent i / n) for the n heads of a power of two, then every other one of twice as many.
[[nodiscard]] model::Weight alibi_slopes(int64_t heads, double exponent = 8);

} // namespace lamina::architectures
