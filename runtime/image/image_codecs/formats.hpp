// The formats, each by its own library.
#pragma once

#include <lamina/image.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace lamina::image {

// A file's name, for messages, its bytes, and how many pixels it may have.
struct File {
    const std::string &name;
    std::span<const std::byte> bytes;
    int64_t most_pixels = 0;
};
[[noreturn]] void refuse(const File &file, const std::string &why);

// A picture as its file has it.
struct Picture {
    int64_t width = 0, height = 0;
    size_t channels = 0;                  // 3: red, green, blue; 4: and opacity
    std::vector<uint8_t> values = {};     // (height, width, channels)
    std::span<const std::byte> exif = {}; // within the file's bytes, or of `owned`; empty: none
    std::vector<std::byte> owned = {};
};
// Throws Error(input) for sides that are too long, or too many pixels.
void expect_size(const File &file, uint64_t width, uint64_t height);
// Makes room for the pixels, after expect_size().
void allocate(const File &file, Picture &picture, uint64_t width, uint64_t height, size_t channels);

[[nodiscard]] bool is_jpeg(std::span<const std::byte> bytes);
[[nodiscard]] bool is_png(std::span<const std::byte> bytes);
[[nodiscard]] bool is_webp(std::span<const std::byte> bytes);
// All throw Error(input).
[[nodiscard]] Picture read_jpeg(const File &file);
[[nodiscard]] Picture read_png(const File &file);
[[nodiscard]] Picture read_webp(const File &file);

// How a picture lies, from 1 to 8 as EXIF numbers it (CIPA DC-008, section 4.6.4); 1, upright, if it does not say.
[[nodiscard]] int orientation_of(std::span<const std::byte> exif);

} // namespace lamina::image
