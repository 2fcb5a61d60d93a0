// Rotary positions of an image's patches, in rows and columns.
#pragma once

#include "architectures/rotary.hpp"

namespace lamina::architectures {

// Half of the pairs of a head's channels turn with rows, the others with columns. Reads "rope_theta",
// "rope_parameters", and "head_dim", which has to be `channels`, a multiple of 4. alternating: rows and columns take
// turns to take a frequency; else both have the same.
[[nodiscard]] Rotary axial_rotary(const Config &config, int64_t channels, bool alternating);

} // namespace lamina::architectures
