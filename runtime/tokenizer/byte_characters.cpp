#include "tokenizer/byte_characters.hpp"

#include "base/utf8.hpp"

#include <array>
#include <charconv>

namespace lamina::tokenizer {
namespace {

constexpr bool is_seen(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<char32_t, 256> character_of = [] {
    std::array<char32_t, 256> out{};
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) out[byte] = is_seen(byte) ? byte : next++;
    return out;
}();

constexpr std::array<int16_t, 0x180> byte_of = [] {
    std::array<int16_t, 0x180> out{};
    out.fill(-1);
    for (unsigned byte = 0; byte < 256; ++byte) out[character_of[byte]] = static_cast<int16_t>(byte);
    return out;
}();

} // namespace

char32_t character_of_byte(unsigned char byte) { return character_of[byte]; }

std::string in_characters(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) append_utf8(out, character_of_byte(static_cast<unsigned char>(byte)));
    return out;
}

std::optional<unsigned char> byte_of_character(char32_t code) {
    if (code >= byte_of.size() || byte_of[code] < 0) return std::nullopt;
    return static_cast<unsigned char>(byte_of[code]);
}

std::string byte_token(unsigned char byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

std::optional<unsigned char> byte_of_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
    if (error != std::errc() || end != token.data() + 5) return std::nullopt;
    return static_cast<unsigned char>(value);
}

} // namespace lamina::tokenizer
