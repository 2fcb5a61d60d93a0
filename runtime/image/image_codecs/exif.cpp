// The orientation in EXIF data, which are a TIFF file: a directory of entries, in either byte order.
#include "formats.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace lamina::image {
namespace {

class Tiff {
  public:
    explicit Tiff(std::span<const std::byte> bytes) : bytes_(bytes) {
        if (bytes.size() >= 2) little_ = bytes[0] == std::byte{'I'};
    }
    [[nodiscard]] std::optional<uint32_t> number(size_t at, size_t size) const {
        if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
        uint32_t out = 0;
        for (size_t i = 0; i < size; ++i)
            out = out << 8 | std::to_integer<uint32_t>(bytes_[little_ ? at + size - 1 - i : at + i]);
        return out;
    }

  private:
    std::span<const std::byte> bytes_;
    bool little_ = false;
};

} // namespace

int orientation_of(std::span<const std::byte> exif) {
    constexpr uint32_t tag = 0x0112, entry_bytes = 12, value_at = 8;
    constexpr std::array<char, 6> header{'E', 'x', 'i', 'f', 0, 0}; // which JPEG has before it
    const auto equal = [](std::byte a, char b) { return a == static_cast<std::byte>(b); };
    if (exif.size() >= header.size() && std::ranges::equal(exif.first(header.size()), header, equal))
        exif = exif.subspan(header.size());
    const Tiff tiff(exif);
    const auto directory = tiff.number(4, 4);
    const auto entries = directory ? tiff.number(*directory, 2) : std::nullopt;
    for (uint32_t i = 0; entries && i < *entries; ++i) {
        const size_t entry = size_t{*directory} + 2 + size_t{i} * entry_bytes;
        if (tiff.number(entry, 2) != tag) continue;
        const auto value = tiff.number(entry + value_at, 2);
        return value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
    }
    return 1;
}

} // namespace lamina::image
