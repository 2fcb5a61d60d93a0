// Draws a comparison: one row per layer, one column per metric, coloured by the error as a fraction of its limit.
#pragma once

#include <lamina/proof.hpp>

#include <string>

namespace lamina::cli {

// The text of an SVG file. Blue is far below the limit, white at it, red above it. The scale is logarithmic, with four
// decades on either side.
[[nodiscard]] std::string draw(const Comparison &comparison);

} // namespace lamina::cli
