// Reads the "pages" block of model.json, and checks every name in it against the graphs.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

// The graphs must have been read. Throws Error(input).
[[nodiscard]] Pages read_pages(JsonView value, const Model &model, const TextFiles &files);

} // namespace lamina::model
