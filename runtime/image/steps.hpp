// What becomes of an image before a model takes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace lamina::image {

enum class Filter { bilinear, bicubic, lanczos };

// To this size, or so that the shorter side has `shortest`, or so that both sides become multiples of `multiple`: of
// images of `least` to `most` pixels, or as near to `most` as fits, or whose longer side has at most `longest` before
// it is rounded up.
struct Resize {
    int64_t height = 0, width = 0, shortest = 0;
    int64_t multiple = 0;        // 0: none
    int64_t least = 0, most = 0; // pixels in all, with multiples; least: 0: as many as fit
    int64_t longest = 0;         // 0: no side is too long
    Filter filter = Filter::bilinear;
    bool rounded = true; // pixels of the result are whole numbers, as Pillow has them
};

struct Steps {
    std::optional<Resize> resize = {};
    int64_t height = 0, width = 0; // then the middle of this size is cut out; what lies outside of the image is black;
                                   // 0: nothing is cut out
    int64_t patch = 0;             // pixels of a side
    int64_t merge = 1;             // patches come in squares of so many a side, one square after the other
    double scale = 1;              // of pixels
    std::array<double, 3> mean{}, deviation{1, 1, 1}; // of red, green and blue, once scaled
};

} // namespace lamina::image
