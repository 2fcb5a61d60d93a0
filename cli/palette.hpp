// Colours of charts, safe for colour-blind eyes.
#pragma once

#include <cstddef>
#include <string>

namespace lamina::cli {

// "#0072b2": the colour of line i of n. Up to seven lines differ in hue (Okabe and Ito's palette); more are steps along
// a dark-to-light scale (viridis), which shows their order.
[[nodiscard]] std::string line_colour(size_t i, size_t n);

// Blue for 0, white for 0.5, red for 1 (ColorBrewer's RdBu, reversed).
[[nodiscard]] std::string diverging_colour(double unit);

} // namespace lamina::cli
