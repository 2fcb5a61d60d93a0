// A comparison as a picture: a row a layer, a column a metric, coloured by how much of its limit an error takes.
#pragma once

#include <lamina/proof.hpp>

#include <string>

namespace lamina::cli {

// The text of an SVG file. Blue: far below the limit; white: at it; red: beyond. The scale is logarithmic, four decades
// to either side.
[[nodiscard]] std::string draw(const Comparison &comparison);

} // namespace lamina::cli
