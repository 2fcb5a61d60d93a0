// What the graph for images takes, whether they have one size or any.
#pragma once

#include "model/model.hpp"
#include "plan/graph_plan.hpp"

#include <lamina/image.hpp>
#include <lamina/lamina.hpp>

#include <cstdint>
#include <span>

namespace lamina::reading {

// Throws Error(input) for an image whose pixels are not as many as its size says; `number` is its own in a list.
void expect_pixels(const Image &image, size_t number);

// The tokens of an image in a prompt: rows of so many. Throws Error(input) for an image that the model does not take.
struct TokenGrid {
    int64_t rows = 0, columns = 0;
    [[nodiscard]] int64_t count() const { return rows * columns; }
};
// Of images of any size: one token is a square of merged patches. Of images of one size: one row of Images::tokens.
[[nodiscard]] TokenGrid tokens_of(const model::Images &model, const Image &image);

// The inputs of the graph for some images of one size: patches (rows, N, K), where rows beyond the images are zeros; or
// for one image of any size, with rows = 1.
[[nodiscard]] TensorMap inputs_of_images(const model::Images &model, std::span<const Image> images, int64_t rows);

// A picture that Lamina makes up, and what the graph takes for it.
[[nodiscard]] Image usual_picture(const model::Images &model);
[[nodiscard]] TensorMap usual_inputs(const model::Images &model);

// Their shapes: for so many images of one size, or for that picture.
[[nodiscard]] plan::GraphShapes shapes_of(const model::Images &model, int64_t batch);

} // namespace lamina::reading
