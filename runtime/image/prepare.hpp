// An image as a model takes it: resized, cut to a size, and scaled.
#pragma once

#include "image/steps.hpp"

#include <lamina/image.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lamina::image {

// Rows and columns of an image.
struct Window {
    int64_t top = 0, left = 0, height = 0, width = 0;
};

// As Pillow resizes: filters as wide as the pixels of the result, results in 8 bits after each of both directions. Only
// this part of the result, which lies within it.
[[nodiscard]] Image resized(const Image &image, int64_t height, int64_t width, Filter filter, const Window &part);

// The same without rounding, as PyTorch resizes floats: the values of pixels, as Image has them.
[[nodiscard]] std::vector<float> resized_values(const Image &image, int64_t height, int64_t width, Filter filter,
                                                const Window &part);

// The size that `resize` gives an image: height and width. Throws Error(input) for an image that is too long to become
// one of multiples.
[[nodiscard]] std::array<int64_t, 2> size_after(const Resize &resize, int64_t height, int64_t width);

// The size in which a model gets an image: height and width. Throws as above.
[[nodiscard]] std::array<int64_t, 2> size_of(const Image &image, const Steps &steps);

// The place among the patches of the one in this row and column, of an image that has so many `across`.
[[nodiscard]] int64_t place_of_patch(int64_t row, int64_t column, int64_t across, int64_t merge);

// (pixel * scale - mean) / deviation, as rows of patches: `out` is (patches, 3 * patch * patch), patches from the top
// left, red before green before blue in each. What is right of the last whole patch, or below, is left out.
void prepare(const Image &image, const Steps &steps, std::span<float> out);

} // namespace lamina::image
