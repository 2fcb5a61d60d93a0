// What computing a call takes at least: bytes and operations.
#pragma once

#include "abi/call.hpp"

#include <lamina/measure.hpp>

namespace lamina::plan {

// Every tensor counts once; of a table whose rows are looked up by index, no more rows count than there are indices.
[[nodiscard]] Cost cost_of(const abi::LayerCall &call);

// The same without states, because how far they are filled is not known. If there are any, operations are not known
// either.
[[nodiscard]] Cost cost_without_states(const abi::LayerCall &call);

// Whether the values of an input are numbers of rows of a weight.
[[nodiscard]] bool looks_up(const lamina_layer &contract, const lamina_port &input);

} // namespace lamina::plan
