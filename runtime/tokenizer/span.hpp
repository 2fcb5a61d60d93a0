// A range of bytes in a text.
#pragma once

#include <cstdint>
#include <string_view>

namespace lamina::tokenizer {

struct Span {
    uint32_t begin = 0, end = 0; // bytes

    [[nodiscard]] uint32_t size() const { return end - begin; }
    [[nodiscard]] std::string_view of(std::string_view text) const { return text.substr(begin, size()); }
    bool operator==(const Span &) const = default;
};

} // namespace lamina::tokenizer
