// Reads images by the libraries of their formats, in a library of its own that links them.
#pragma once

#include <lamina/image.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace lamina::image {

// The function "lamina_decode_image" of the library "image_codecs", as decode_image().
using DecodeImage = void(const std::string &name, std::span<const std::byte> file, int64_t most, Image &out);

} // namespace lamina::image
