// lamina bench --report: a page about one machine, which its user can send in.
#pragma once

#include "output.hpp"

#include <lamina/measure.hpp>

#include <string>

namespace lamina::cli {

// Markdown: the device and its driver, how many of the layers' own cases each variant passed, and how fast the layers
// are with shapes of transformers. Takes minutes.
[[nodiscard]] std::string report_of(const Runtime &runtime, const Device &device, const Limits &limits, Output &output);

} // namespace lamina::cli
