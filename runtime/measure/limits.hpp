// What a device does at most.
#pragma once

#include "session/state.hpp"

#include <lamina/measure.hpp>

namespace lamina::measure {

// lamina::measure_limits() of measure.hpp.
[[nodiscard]] Limits limits(detail::RuntimeState &runtime, const Device &device);

} // namespace lamina::measure
