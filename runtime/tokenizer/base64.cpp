#include "tokenizer/base64.hpp"

#include <lamina/error.hpp>

#include <cstdint>

namespace lamina::tokenizer {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

std::string from_base64(std::string_view text) {
    const auto refuse = [](const std::string &why) { throw Error(ErrorCode::input, "not base64: " + why); };
    if (text.size() % 4 != 0) refuse("expected a multiple of 4 characters, found " + std::to_string(text.size()));
    const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    uint32_t bits = 0, count = 0;
    for (size_t i = 0; i + padding < text.size(); ++i) {
        const size_t digit = digits.find(text[i]);
        if (digit == std::string_view::npos) refuse("invalid character at offset " + std::to_string(i));
        bits = bits << 6 | static_cast<uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>(static_cast<unsigned char>(bits >> count & 0xFF));
    }
    return out;
}

std::string to_base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t at = 0; at < bytes.size(); at += 3) {
        const std::string_view group = bytes.substr(at, 3);
        uint32_t bits = 0;
        for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < group.size() ? static_cast<uint8_t>(group[i]) : 0u);
        for (size_t i = 0; i < 4; ++i) out += i <= group.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
    }
    return out;
}

} // namespace lamina::tokenizer
