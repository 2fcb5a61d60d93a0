#include "image/prepare.hpp"

#include <algorithm>

namespace lamina::image {
namespace {

// Where the middle of `wanted` begins in `all` (transformers, image_processing_backends.py); below zero if it reaches
// beyond.
int64_t begin_of_middle(int64_t all, int64_t wanted) {
    return wanted > all ? -((wanted - all) / 2) : (all - wanted) / 2;
}

} // namespace

int64_t place_of_patch(int64_t row, int64_t column, int64_t across, int64_t merge) {
    const int64_t square = row / merge * (across / merge) + column / merge;
    return (square * merge + row % merge) * merge + column % merge;
}

std::array<int64_t, 2> size_of(const Image &image, const Steps &steps) {
    if (steps.height != 0) return {steps.height, steps.width};
    return size_after(steps.resize.value(), image.height, image.width);
}

void prepare(const Image &image, const Steps &steps, std::span<float> out) {
    const auto [height, width] =
        steps.resize ? size_after(*steps.resize, image.height, image.width) : std::array{image.height, image.width};
    const auto [rows, columns] = size_of(image, steps);
    const int64_t top = begin_of_middle(height, rows), left = begin_of_middle(width, columns);
    Window part{std::max<int64_t>(top, 0), std::max<int64_t>(left, 0), std::min(height, rows),
                std::min(width, columns)};
    Image resized_part;
    std::vector<float> values;  // instead of pixels, if they are not rounded
    const Image *from = &image; // whose pixel (0, 0) is that of `part`
    if (height != image.height || width != image.width) {
        if (steps.resize->rounded)
            resized_part = resized(image, height, width, steps.resize->filter, part);
        else
            values = resized_values(image, height, width, steps.resize->filter, part), resized_part.width = part.width;
        from = &resized_part, part.top = part.left = 0;
    }
    const auto pixel_at = [&](size_t at) -> double { return values.empty() ? from->pixels[at] : values[at]; };
    const int64_t across = columns / steps.patch, down = rows / steps.patch, area = steps.patch * steps.patch;
    for (int64_t y = 0; y < down * steps.patch; ++y)
        for (int64_t x = 0; x < across * steps.patch; ++x) {
            const int64_t row = y + std::min<int64_t>(top, 0), column = x + std::min<int64_t>(left, 0);
            const bool inside = row >= 0 && row < part.height && column >= 0 && column < part.width;
            const int64_t patch = place_of_patch(y / steps.patch, x / steps.patch, across, steps.merge),
                          place = y % steps.patch * steps.patch + x % steps.patch,
                          at = ((part.top + row) * from->width + part.left + column) * 3;
            for (int64_t c = 0; c < 3; ++c) {
                const auto channel = static_cast<size_t>(c);
                const double pixel = inside ? pixel_at(static_cast<size_t>(at + c)) : 0;
                out[static_cast<size_t>((patch * 3 + c) * area + place)] =
                    static_cast<float>((pixel * steps.scale - steps.mean[channel]) / steps.deviation[channel]);
            }
        }
}

} // namespace lamina::image
