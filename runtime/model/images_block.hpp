// Reads the "images" block of model.json, and checks every name in it against the graphs.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

// The graphs and "reading" must have been read. Throws Error(input).
[[nodiscard]] Images read_images(JsonView value, const Model &model);
// "image" of the block "pages": how the image of a page becomes patches. Throws Error(input).
[[nodiscard]] Images read_page_image(JsonView value, const Graph &graph);

} // namespace lamina::model
