// The "generation" block of model.json: every name in it is checked against the graphs and the vocabularies.
#pragma once

#include "model/json.hpp"
#include "model/model.hpp"

namespace lamina::model {

// Opens the vocabularies that the block names, in `model.folder`, into `model.vocabularies`. The graphs are read
// before.
[[nodiscard]] Generation read_generation(const JsonValue &value, Model &model);

} // namespace lamina::model
