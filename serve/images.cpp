#include "images.hpp"

#include "fields.hpp"

#include "base/utf8.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lamina::serve {
namespace {

// RFC 4648, section 4; with or without padding. Nothing for what is something else.
std::optional<std::string> from_base64(std::string_view text) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<int8_t, 256> values{};
    values.fill(-1);
    for (size_t i = 0; i < alphabet.size(); ++i) values[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
    if (text.size() % 4 == 0)
        for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
    if (text.size() % 4 == 1) return std::nullopt;
    std::string out;
    out.reserve(text.size() / 4 * 3 + 2);
    uint32_t bits = 0;
    int count = 0; // of these that are not written
    for (const char c : text) {
        const int8_t value = values[static_cast<uint8_t>(c)];
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<uint32_t>(value);
        if ((count += 6) < 8) continue;
        count -= 8;
        out.push_back(static_cast<char>(bits >> count));
        bits &= (uint32_t{1} << count) - 1;
    }
    return out;
}

} // namespace

GivenImage image_of(const JsonView &part) {
    const JsonView given = part.at("image_url"), url = given.is_string() ? given : given.at("url");
    return image_of_url(url);
}

GivenImage image_of_url(const JsonView &url) {
    const std::string_view text = url.string(), mark = ";base64,", head = text.substr(0, 64);
    if (!text.starts_with("data:"))
        url.fail("expected an image as data:image/png;base64,..., because the server fetches nothing; found " +
                 in_quotes(text.substr(0, 40)));
    const size_t at = head.find(mark);
    if (at == std::string_view::npos) url.fail("expected data:image/png;base64,..., found no ';base64,'");
    auto bytes = from_base64(text.substr(at + mark.size()));
    if (!bytes) url.fail("what follows ';base64,' is not base64");
    return {std::move(*bytes), in_request(url)};
}

GivenImage image_of_base64(const JsonView &data) {
    auto bytes = from_base64(data.string());
    if (!bytes) data.fail("expected a file in base64, found something else");
    return {std::move(*bytes), in_request(data)};
}

Json part_of_image() { return {{"type", "image_url"}, {"image_url", "data:image/png;base64,"}}; }

std::vector<Image> read_images(const std::vector<GivenImage> &images) {
    if (images.size() > most_images)
        throw Error(ErrorCode::input, images[most_images].place + ": expected at most " + std::to_string(most_images) +
                                          " images, found " + std::to_string(images.size()));
    std::vector<Image> out;
    int64_t left = most_pixels;
    for (const GivenImage &each : images) {
        out.push_back(decode_image(std::as_bytes(std::span(each.bytes)), each.place, left));
        left -= out.back().width * out.back().height;
    }
    return out;
}

} // namespace lamina::serve
