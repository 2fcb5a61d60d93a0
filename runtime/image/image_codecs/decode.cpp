#include "formats.hpp"
#include "image/codecs.hpp"

#include <algorithm>
#include <utility>

namespace lamina::image {
namespace {

// The picture on white.
void drop_opacity(Picture &picture) {
    if (picture.channels != 4) return;
    std::vector<uint8_t> opaque;
    opaque.reserve(picture.values.size() / 4 * 3);
    for (size_t i = 0; i < picture.values.size(); i += 4) {
        const unsigned opacity = picture.values[i + 3];
        for (size_t c = 0; c < 3; ++c)
            opaque.push_back(
                static_cast<uint8_t>((picture.values[i + c] * opacity + 255 * (255 - opacity) + 127) / 255));
    }
    picture.values = std::move(opaque);
    picture.channels = 3;
}

// Turned so that it is upright.
Image upright(Picture picture) {
    const int orientation = orientation_of(picture.exif);
    if (orientation == 1) return {picture.width, picture.height, std::move(picture.values)};
    const bool on_its_side = orientation > 4;
    Image out{picture.width, picture.height, {}};
    if (on_its_side) std::swap(out.width, out.height);
    out.pixels.reserve(picture.values.size());
    for (int64_t y = 0; y < out.height; ++y)
        for (int64_t x = 0; x < out.width; ++x) {
            int64_t row = on_its_side ? x : y, column = on_its_side ? y : x;
            if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
                row = picture.height - 1 - row;
            if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
                column = picture.width - 1 - column;
            const auto pixel = picture.values.begin() + (row * picture.width + column) * 3;
            out.pixels.insert(out.pixels.end(), pixel, pixel + 3);
        }
    return out;
}

Picture read(const File &file) {
    if (is_jpeg(file.bytes)) return read_jpeg(file);
    if (is_png(file.bytes)) return read_png(file);
    if (is_webp(file.bytes)) return read_webp(file);
    refuse(file, "expected an image in PNG, JPEG or WebP; 'magick INPUT OUTPUT.png' converts most others");
}

} // namespace

void refuse(const File &file, const std::string &why) { throw Error(ErrorCode::input, file.name + ": " + why); }

void expect_size(const File &file, uint64_t width, uint64_t height) {
    constexpr uint64_t longest = 1u << 20; // of a side; what is resized takes memory by each
    const auto most = static_cast<uint64_t>(file.most_pixels);
    if (width > longest || height > longest)
        refuse(file, "an image of " + std::to_string(width) + " x " + std::to_string(height) +
                         " pixels; expected sides of at most " + std::to_string(longest));
    if (width == 0 || height == 0 || width > most || height > most || width * height > most)
        refuse(file, "an image of " + std::to_string(width) + " x " + std::to_string(height) +
                         " pixels; expected at least one, and at most " + std::to_string(most) + " in all");
}

void allocate(const File &file, Picture &picture, uint64_t width, uint64_t height, size_t channels) {
    expect_size(file, width, height);
    picture.width = static_cast<int64_t>(width), picture.height = static_cast<int64_t>(height);
    picture.channels = channels;
    picture.values.resize(width * height * channels);
}

extern "C" void lamina_decode_image(const std::string &name, std::span<const std::byte> bytes, int64_t most,
                                    Image &out) {
    Picture picture = read({name, bytes, most});
    drop_opacity(picture);
    out = upright(std::move(picture));
}

} // namespace lamina::image
