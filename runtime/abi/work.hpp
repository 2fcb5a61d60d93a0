// How many operations a call takes, as its layer's contract declares: lamina_layer::work.
#pragma once

#include "abi/call.hpp"

#include <lamina/plugin.h>

#include <optional>
#include <string>

namespace lamina::abi {

// Why the declaration is wrong; empty if it is right, or if there is none. The contract's ports must be sound.
[[nodiscard]] std::string fault_of_work(const lamina_layer &contract);

// Nothing if the layer does not declare it, or if a size that it depends on is not known.
[[nodiscard]] std::optional<double> operations_of(const LayerCall &call);

} // namespace lamina::abi
