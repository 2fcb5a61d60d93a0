// Images through a model that takes them: vectors and classes.
#pragma once

#include "session/state.hpp"

#include <lamina/image.hpp>

#include <vector>

namespace lamina::reading {

// Throws Error(usage) for a model without an "images" block.
[[nodiscard]] const model::Images &images_of(const model::Model &model);

// Throws Error(input) for an image whose pixels are not as many as its size says; `number` is its own in a list.
void expect_pixels(const Image &image, size_t number);

// The input of the graph for some images, (rows, N, K); rows beyond them are zeros. Throws Error(input) for an image
// whose pixels are not as many as its size says.
[[nodiscard]] TensorMap inputs_of_images(const model::Images &model, std::span<const Image> images, int64_t rows);

// The same for a picture that Lamina makes up.
[[nodiscard]] TensorMap usual_inputs(const model::Images &model);

// What the model gives for each image: (C) or (L) values.
[[nodiscard]] std::vector<std::vector<float>>
read_images(detail::SessionState &session, const std::vector<Image> &images, const ImageOptions &options);

[[nodiscard]] plan::GraphShapes shapes_of(const model::Images &images, int64_t batch);

// Throws Error(input) unless the model's output for `batch` images has a row for each, with a value for each label.
void expect_shape_of_images(const model::Model &model, const Shape &output, int64_t batch);

} // namespace lamina::reading
