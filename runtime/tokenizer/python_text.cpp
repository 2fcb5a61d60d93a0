#include "tokenizer/python_text.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <array>
#include <charconv>

namespace lamina::tokenizer {
namespace {

// Letters after a backslash, and what they stand for.
constexpr std::array<std::pair<char, char>, 6> letters{
    {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}, {'\'', '\''}, {'"', '"'}}};
// Others, and the number of hexadecimal digits behind them.
constexpr std::array<std::pair<char, size_t>, 3> numbers{{{'x', 2}, {'u', 4}, {'U', 8}}};

[[noreturn]] void refuse(std::string_view written, size_t at) {
    throw Error(ErrorCode::input, in_quotes(written) + ", byte " + std::to_string(at) +
                                      ": expected \\n, \\r, \\t, \\\\, \\', \\\", \\x and two hexadecimal digits or, "
                                      "in a text, \\u and four or \\U and eight");
}

char32_t number_at(std::string_view written, size_t at, size_t length) {
    uint32_t out = 0;
    const char *const begin = written.data() + at, *const end = begin + length;
    const auto [last, error] = at + length <= written.size() ? std::from_chars(begin, end, out, 16)
                                                             : std::from_chars_result{begin, std::errc()};
    if (error != std::errc() || last != end || out > 0x10FFFF || (out >= 0xD800 && out < 0xE000)) refuse(written, at);
    return out;
}

} // namespace

std::string python_text(std::string_view written, PythonLiteral kind) {
    std::string out;
    for (size_t at = 0; at < written.size(); ++at) {
        if (written[at] != '\\') {
            out += written[at];
            continue;
        }
        const size_t escape = at++;
        const char letter = at < written.size() ? written[at] : '\0';
        bool known = false;
        for (const auto &[name, value] : letters)
            if (letter == name) known = true, out += value;
        for (const auto &[name, length] : numbers)
            if (letter == name && (kind == PythonLiteral::text || letter == 'x')) {
                const char32_t code = number_at(written, at + 1, length);
                if (kind == PythonLiteral::text) append_utf8(out, code);
                if (kind == PythonLiteral::bytes) out += static_cast<char>(code);
                known = true, at += length;
            }
        if (!known) refuse(written, escape);
    }
    return out;
}

} // namespace lamina::tokenizer
