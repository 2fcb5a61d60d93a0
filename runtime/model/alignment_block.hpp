// "alignment" of model.json's "generation".
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

// value: "generation", whose other keys were read.
[[nodiscard]] Alignment read_alignment(JsonView value, const Generation &generation, const Model &model);

} // namespace lamina::model
