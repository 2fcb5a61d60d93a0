// A layer's contract as readable text and as JSON. All of it comes from the plugin's descriptor.
#pragma once

#include "output.hpp"

#include <lamina/plugins.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

[[nodiscard]] std::string contract_as_text(const LayerContract &layer, const Output &output);
[[nodiscard]] Json contract_as_json(const LayerContract &layer);

// The names of the kernels that the build's shader compiler could not compile, each once.
[[nodiscard]] std::vector<std::string> kernels_left_out(const Plugins &plugins);

} // namespace lamina::cli
