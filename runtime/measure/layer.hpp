// Times the variants of one layer on a device.
#pragma once

#include "session/state.hpp"

#include <lamina/measure.hpp>

#include <string>
#include <vector>

namespace lamina::measure {

// lamina::measure_layer() of measure.hpp.
[[nodiscard]] std::vector<LayerMeasurement> measure_layer(detail::RuntimeState &runtime, const Device &device,
                                                          const std::string &layer, const std::string &case_text,
                                                          const MeasureOptions &options);

} // namespace lamina::measure
