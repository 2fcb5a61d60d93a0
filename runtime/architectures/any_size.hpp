// The inputs of a vision transformer that takes images of any size.
#pragma once

#include "architectures/architecture.hpp"

namespace lamina::architectures {

// Inputs beside "patches", (B, N, 3 * patch * patch), as model::AnySize has them.
inline constexpr const char *patch_coordinates = "coordinates", *patch_lengths = "lengths";

// Adds them to the graph "encode_image", whose output is "tokens", and says so in Draft::images. Patches have `patch`
// pixels a side, and come in squares of `merge` a side. `steps` and `place`: as ImageInput has them.
void add_any_size_inputs(Draft &draft, int64_t patch, int64_t merge, Json steps, Json place);

} // namespace lamina::architectures
