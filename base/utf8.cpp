#include "base/utf8.hpp"

#include <algorithm>

namespace lamina {
namespace {

uint32_t continuation(char byte) { return static_cast<unsigned char>(byte) & 0x3Fu; }

} // namespace

Utf8Prefix utf8_prefix(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {1, true};
    if (lead < 0xC2 || lead > 0xF4) return {1, false};
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    for (size_t i = 1; i < length; ++i) {
        if (at + i == text.size()) return {i, false};
        // For some lead bytes, the range of the second byte is smaller (Unicode 15, table 3-7). This excludes overlong
        // forms, surrogates and values above U+10FFFF.
        const unsigned char lowest = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const unsigned char highest = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (byte(i) < lowest || byte(i) > highest) return {i, false};
    }
    return {length, true};
}

size_t utf8_length(std::string_view text, size_t at) {
    const Utf8Prefix prefix = utf8_prefix(text, at);
    return prefix.whole ? prefix.length : 0;
}

size_t first_invalid_utf8(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
        if (static_cast<unsigned char>(text[at]) < 0x80) { // ASCII, the most frequent case
            ++at;
            continue;
        }
        const size_t length = utf8_length(text, at);
        if (length == 0) break;
        at += length;
    }
    return at;
}

Character character_at(std::string_view text, size_t at) {
    const uint32_t lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xE0) return {(lead & 0x1Fu) << 6 | continuation(text[at + 1]), 2};
    if (lead < 0xF0) return {(lead & 0xFu) << 12 | continuation(text[at + 1]) << 6 | continuation(text[at + 2]), 3};
    return {(lead & 7u) << 18 | continuation(text[at + 1]) << 12 | continuation(text[at + 2]) << 6 |
                continuation(text[at + 3]),
            4};
}

Character character_before(std::string_view text, size_t end) {
    size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return character_at(text, at);
}

size_t length_in_utf8(char32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

void append_utf8(std::string &out, char32_t code) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    const auto put_rest = [&](int shift) { put(0x80u | (code >> shift & 0x3Fu)); };
    switch (length_in_utf8(code)) {
    case 1:
        put(code);
        break;
    case 2:
        put(0xC0u | code >> 6), put_rest(0);
        break;
    case 3:
        put(0xE0u | code >> 12), put_rest(6), put_rest(0);
        break;
    default:
        put(0xF0u | code >> 18), put_rest(12), put_rest(6), put_rest(0);
    }
}

std::string utf8(char32_t code) {
    std::string out;
    append_utf8(out, code);
    return out;
}

size_t count_characters(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string printable(std::string_view text) {
    constexpr size_t longest = 120; // bytes
    std::string out;
    for (size_t at = 0; at < text.size();) {
        if (at >= longest) return out + "...";
        const size_t length = utf8_length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool c1_control = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
        if (length == 0 || byte < 0x20 || byte == 0x7F || c1_control) {
            constexpr std::string_view digits = "0123456789abcdef";
            out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            at += 1;
        } else {
            out += text.substr(at, length);
            at += length;
        }
    }
    return out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

} // namespace lamina
