// Resampling (Pillow, src/libImaging/Resample.c): each value of the result is a weighted mean of those near it, by a
// filter that is stretched where the image becomes smaller.
#include "image/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lamina::image {
namespace {

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys' cubic convolution with a = -1/2.
double cubic(double x) {
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }
double windowed_sinc(double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Kernel {
    double (*weight)(double distance);
    double radius;
};

Kernel kernel_of(Filter filter) {
    switch (filter) {
    case Filter::bicubic:
        return {cubic, 2};
    case Filter::lanczos:
        return {windowed_sinc, 3};
    case Filter::bilinear:
        break;
    }
    return {triangle, 1};
}

// What a value of the result is made of: those from `first` on.
struct Tap {
    int64_t first = 0;
    std::vector<float> weights = {};
};

// Of the values [first, first + count) of a result of `out`.
std::vector<Tap> taps_of(int64_t in, int64_t out, Filter filter, int64_t first, int64_t count) {
    const double step = static_cast<double>(in) / static_cast<double>(out), stretch = std::max(step, 1.0);
    const Kernel kernel = kernel_of(filter);
    const double reach = kernel.radius * stretch;
    std::vector<Tap> taps;
    for (int64_t i = first; i < first + count; ++i) {
        const double middle = (static_cast<double>(i) + 0.5) * step;
        const auto begin = std::max<int64_t>(std::lround(middle - reach), 0),
                   end = std::min<int64_t>(std::lround(middle + reach), in);
        std::vector<double> weights;
        double sum = 0;
        for (int64_t at = begin; at < end; ++at) {
            weights.push_back(kernel.weight((static_cast<double>(at) - middle + 0.5) / stretch));
            sum += weights.back();
        }
        Tap &tap = taps.emplace_back(Tap{begin});
        for (const double weight : weights) tap.weights.push_back(static_cast<float>(weight / sum));
    }
    return taps;
}

void store(float value, uint8_t &to) { to = static_cast<uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F)); }
void store(float value, float &to) { to = value; }

// Along an axis: `outer` blocks of (in, inner) values become blocks of (taps, inner).
template <class To, class From>
std::vector<To> along(const std::vector<From> &from, size_t outer, size_t in, size_t inner,
                      const std::vector<Tap> &taps) {
    std::vector<To> to(outer * taps.size() * inner);
    std::vector<float> sums(inner);
    for (size_t o = 0; o < outer; ++o)
        for (size_t t = 0; t < taps.size(); ++t) {
            std::ranges::fill(sums, 0.0F);
            const From *row = from.data() + (o * in + static_cast<size_t>(taps[t].first)) * inner;
            for (const float weight : taps[t].weights) {
                for (size_t i = 0; i < inner; ++i) sums[i] += weight * static_cast<float>(row[i]);
                row += inner;
            }
            for (size_t i = 0; i < inner; ++i) store(sums[i], to[(o * taps.size() + t) * inner + i]);
        }
    return to;
}

// With values of this type after each direction.
template <class Value>
std::vector<Value> resized_to(const Image &image, int64_t height, int64_t width, Filter filter, const Window &part) {
    const auto rows = static_cast<size_t>(image.height), columns = static_cast<size_t>(image.width),
               kept = static_cast<size_t>(part.width);
    constexpr int64_t most = int64_t{1} << 27; // pixels between the two directions
    if (image.height > most / std::max<int64_t>(part.width, 1))
        throw Error(ErrorCode::input, "an image of " + std::to_string(image.width) + " x " +
                                          std::to_string(image.height) + " pixels cannot become " +
                                          std::to_string(part.width) + " pixels wide: cut it");
    const std::vector<Value> narrowed =
        along<Value>(image.pixels, rows, columns, 3, taps_of(image.width, width, filter, part.left, part.width));
    return along<Value>(narrowed, 1, rows, kept * 3, taps_of(image.height, height, filter, part.top, part.height));
}

} // namespace

Image resized(const Image &image, int64_t height, int64_t width, Filter filter, const Window &part) {
    return {part.width, part.height, resized_to<uint8_t>(image, height, width, filter, part)};
}

std::vector<float> resized_values(const Image &image, int64_t height, int64_t width, Filter filter,
                                  const Window &part) {
    return resized_to<float>(image, height, width, filter, part);
}

namespace {

// Each side nearest its size, halves to even ones, unless the image then has too few pixels or too many: then nearest
// its shape (transformers, image_processing_qwen2_vl.py, smart_resize()).
std::array<int64_t, 2> in_multiples(const Resize &resize, int64_t height, int64_t width) {
    constexpr int64_t longest = 200; // as many times as it is wide
    if (std::max(height, width) > longest * std::min(height, width))
        throw Error(ErrorCode::input, "an image of " + std::to_string(width) + " x " + std::to_string(height) +
                                          " pixels: expected at most " + std::to_string(longest) +
                                          " times as many in one direction as in the other; cut it");
    const auto multiple = static_cast<double>(resize.multiple);
    const auto h = static_cast<double>(height), w = static_cast<double>(width);
    const auto nearest = [&](double side) { return static_cast<int64_t>(std::nearbyint(side / multiple)); };
    int64_t down = nearest(h), across = nearest(w);
    const int64_t pixels = down * across * resize.multiple * resize.multiple;
    if (pixels > resize.most) {
        const double factor = std::sqrt(h * w / static_cast<double>(resize.most));
        const auto smaller = [&](double side) {
            return std::max<int64_t>(1, static_cast<int64_t>(std::floor(side / factor / multiple)));
        };
        down = smaller(h), across = smaller(w);
    } else if (pixels < resize.least) {
        const double factor = std::sqrt(static_cast<double>(resize.least) / (h * w));
        const auto larger = [&](double side) { return static_cast<int64_t>(std::ceil(side * factor / multiple)); };
        down = larger(h), across = larger(w);
    }
    return {down * resize.multiple, across * resize.multiple};
}

// As large as `most` allows, then each side down to a multiple; one that is shorter than that gets one multiple, and
// the other as many as the image is longer (transformers, image_processing_gemma4.py,
// get_aspect_ratio_preserving_size()).
std::array<int64_t, 2> filled(const Resize &resize, int64_t height, int64_t width) {
    const auto h = static_cast<double>(height), w = static_cast<double>(width);
    const double factor = std::sqrt(static_cast<double>(resize.most) / (h * w));
    const auto multiples = [&](double side) {
        return static_cast<int64_t>(std::floor(factor * side / static_cast<double>(resize.multiple)));
    };
    const int64_t most = resize.most / (resize.multiple * resize.multiple);
    int64_t down = multiples(h), across = multiples(w);
    if (down == 0) down = 1, across = std::min(width / height, most);
    if (across == 0) across = 1, down = std::min(height / width, most);
    return {down * resize.multiple, across * resize.multiple};
}

// Smaller if a side is too long, then each side up to the next multiple (transformers, image_processing_pixtral.py).
std::array<int64_t, 2> within(const Resize &resize, int64_t height, int64_t width) {
    const double ratio =
        static_cast<double>(std::max(height, width)) / static_cast<double>(resize.longest); // above 1: it is too long
    const auto side = [&](int64_t pixels) {
        if (ratio > 1) pixels = static_cast<int64_t>(std::floor(static_cast<double>(pixels) / ratio));
        return (pixels + resize.multiple - 1) / resize.multiple * resize.multiple;
    };
    const std::array<int64_t, 2> out{side(height), side(width)};
    if (out[0] == 0 || out[1] == 0)
        throw Error(ErrorCode::input, "an image of " + std::to_string(width) + " x " + std::to_string(height) +
                                          " pixels has nothing left once its longer side has " +
                                          std::to_string(resize.longest) + "; cut it");
    return out;
}

} // namespace

std::array<int64_t, 2> size_after(const Resize &resize, int64_t height, int64_t width) {
    if (resize.longest != 0) return within(resize, height, width);
    if (resize.multiple != 0)
        return resize.least == 0 ? filled(resize, height, width) : in_multiples(resize, height, width);
    if (resize.shortest == 0) return {resize.height, resize.width};
    const auto longer = [&](int64_t of, int64_t to) { // as transformers rounds (image_transforms.py)
        return static_cast<int64_t>(static_cast<double>(resize.shortest * of) / static_cast<double>(to));
    };
    if (width <= height) return {longer(height, width), resize.shortest};
    return {resize.shortest, longer(width, height)};
}

} // namespace lamina::image
