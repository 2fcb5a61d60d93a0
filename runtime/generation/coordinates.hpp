// Where tokens are in time, and in the rows and columns of images (M-RoPE: Wang et al.: Qwen2-VL, arXiv:2409.12191,
// section 2.1).
#pragma once

#include "session/seen_images.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace lamina::generation {

// A text's tokens, from its first on. A word is where time is, on all axes, and moves it on by one. The tokens of an
// image share the time at which it begins, and lie on its rows and columns from there; then time moves on by the longer
// side.
class Coordinates {
  public:
    explicit Coordinates(const detail::SeenImages &images) : images_(&images) {}

    // Time, row and column of the next token. Throws Error(input) for the id of an image that is not known.
    [[nodiscard]] std::array<int32_t, 3> of(int32_t id);
    // The same for many, of which nobody wants to know it.
    void pass(std::span<const int32_t> ids);

  private:
    const detail::SeenImages *images_;
    int64_t time_ = 0;              // of the next word
    detail::SeenImages::One image_; // that the last token was of
    int64_t begin_ = 0;             // when it begins
    int64_t row_ = 0;               // of its tokens, the last one
};

} // namespace lamina::generation
