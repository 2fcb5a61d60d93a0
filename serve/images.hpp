// Images in requests.
#pragma once

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <lamina/image.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lamina::serve {

inline constexpr int64_t most_pixels = int64_t{1} << 26; // of all images of a request: 192 MiB
inline constexpr size_t most_images = 64;                // of a request

// An image file that a message holds.
struct GivenImage {
    std::string bytes;
    std::string place; // of it in the request, for messages: "request: /messages/0/content/1/image_url/url"
};

// Of a part {"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}; "image_url" may also be the text
// itself. All of these throw Error(input), with the place, for any other address, because the server fetches nothing,
// and for what is not base64.
[[nodiscard]] GivenImage image_of(const JsonView &part);
[[nodiscard]] GivenImage image_of_url(const JsonView &url);
[[nodiscard]] GivenImage image_of_base64(const JsonView &data);
// A part of a message that stands for an image which was read already.
[[nodiscard]] Json part_of_image();

// Throws Error(input), with the place, for files that are no images in PNG, JPEG or WebP, and if there are more pixels
// than a request may have.
[[nodiscard]] std::vector<Image> read_images(const std::vector<GivenImage> &images);

} // namespace lamina::serve
