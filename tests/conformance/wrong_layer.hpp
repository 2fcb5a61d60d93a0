// A layer that is wrong on purpose.
#pragma once

#include "abi/library.hpp"

namespace conformance {

// layer_norm with its own kernel and a plan that is off by so many rows. Each call changes what the layers of earlier
// calls do.
[[nodiscard]] lamina::abi::Layer layer_norm_off_by(int32_t rows);

} // namespace conformance
