// The times of layers as bars, in SVG.
#pragma once

#include <lamina/measure.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// A group of bars for each layer and case, with a bar for each variant that was measured. A bar is as long as the
// variant is fast beside the fastest of its group; the numbers are its time, and its speed as a multiple of the first
// variant's.
[[nodiscard]] std::string draw(const std::vector<LayerMeasurement> &measured);

} // namespace lamina::cli
