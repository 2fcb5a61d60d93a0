// Where a model is described, for messages.
#pragma once

#include "model/model.hpp"

#include <string>
#include <string_view>

namespace lamina::model {

// "FOLDER/model.json: POINTER"; for other formats, whose graphs Lamina makes, the folder or file alone: it has no such
// place.
[[nodiscard]] std::string place_in(const Model &model, std::string_view pointer);

// What the model does with texts or audio: "turns texts into vectors", "continues texts".
[[nodiscard]] std::string what_it_does(const Model &model);

} // namespace lamina::model
