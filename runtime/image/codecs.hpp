// Reads images by the libraries of their formats, in a library of its own that links them.
#pragma once

#include <lamina/image.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace lamina::image {

constexpr int64_t most_pixels = int64_t{1} << 27;

// The function "lamina_decode_image" of the library "image_codecs". `name` is the file's, for messages. Throws
// Error(input) as read_image() does.
using DecodeImage = void(const std::string &name, std::span<const std::byte> file, Image &out);

} // namespace lamina::image
