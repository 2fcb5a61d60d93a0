// Colours of charts, safe for colour-blind eyes.
#pragma once

#include <cstddef>
#include <string>

namespace lamina {

// The colour and dashes of line i, as attributes of SVG. Fifteen lines differ in hue (the palettes of Okabe and Ito,
// and of Tol); further ones have the same hues, dashed and dotted.
[[nodiscard]] std::string line_style(size_t i);

// Blue for 0, white for 0.5, red for 1 (ColorBrewer's RdBu, reversed).
[[nodiscard]] std::string diverging_colour(double unit);

} // namespace lamina
