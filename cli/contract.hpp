// A layer's contract as readable text and as JSON. All of it comes from the plugin's descriptor.
#pragma once

#include "output.hpp"

#include <lamina/plugins.hpp>

#include <string>

namespace lamina::cli {

[[nodiscard]] std::string contract_as_text(const LayerContract &layer, const Output &output);
[[nodiscard]] Json contract_as_json(const LayerContract &layer);

} // namespace lamina::cli
