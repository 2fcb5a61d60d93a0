// Images through a model that takes them: vectors and classes.
#pragma once

#include "reading/image_inputs.hpp"
#include "session/state.hpp"

#include <lamina/image.hpp>

#include <vector>

namespace lamina::reading {

// Throws Error(usage) for a model without an "images" block.
[[nodiscard]] const model::Images &images_of(const model::Model &model);

// What the model gives for each image: (C) or (L) values.
[[nodiscard]] std::vector<std::vector<float>>
read_images(detail::SessionState &session, const std::vector<Image> &images, const ImageOptions &options);

// Throws Error(input) unless the model's output for these patches (B, N, K) has a row for each image, with a value for
// each label; or, of images in prompts, rows for each image.
void expect_shape_of_images(const model::Model &model, const Shape &output, const Shape &patches);

} // namespace lamina::reading
