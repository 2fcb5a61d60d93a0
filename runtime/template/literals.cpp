#include "template/literals.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace lamina::jinja {
namespace {

bool is_digit_in(char c, int base) {
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 16;
    return value < base;
}

// The end of the digits at `at`, which may have single underscores between them. Returns `at` if there are none.
size_t end_of_digits(std::string_view text, size_t at, int base = 10) {
    const auto digit = [&](size_t i) { return i < text.size() && is_digit_in(text[i], base); };
    if (!digit(at)) return at;
    while (digit(at) || (at < text.size() && text[at] == '_' && digit(at + 1))) ++at;
    return at;
}

int base_of(std::string_view literal) {
    if (literal.size() < 3 || literal[0] != '0') return 10;
    switch (literal[1]) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        return 10;
    }
}

std::string without_underscores(std::string_view text) {
    std::string out(text);
    std::erase(out, '_');
    return out;
}

// Reads the code of `least` to `most` digits at text[at], and moves `at` past them.
std::optional<char32_t> code_at(std::string_view text, size_t &at, size_t least, size_t most, int base) {
    const size_t begin = at;
    while (at < text.size() && at - begin < most && is_digit_in(text[at], base)) ++at;
    uint32_t code = 0;
    std::from_chars(text.data() + begin, text.data() + at, code, base);
    if (at - begin < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return std::nullopt;
    return code;
}

struct NumericEscape {
    char letter;
    size_t digits;
};
constexpr NumericEscape numeric_escapes[] = {{'x', 2}, {'u', 4}, {'U', 8}};

} // namespace

NumberLiteral number_at(std::string_view text, size_t at, bool may_be_real) {
    if (const int base = base_of(text.substr(at, 3)); base != 10) {
        const size_t digits = text.substr(at + 2, 1) == "_" ? at + 3 : at + 2; // 0x_1F
        if (const size_t end = end_of_digits(text, digits, base); end != digits) return {end - at, false};
    }
    const size_t whole = end_of_digits(text, at);
    size_t end = whole;
    if (may_be_real && end < text.size() && text[end] == '.') {
        if (const size_t fraction = end_of_digits(text, end + 1); fraction != end + 1) end = fraction;
    }
    if (may_be_real && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
        const size_t digits =
            end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? end + 2 : end + 1;
        if (const size_t exponent = end_of_digits(text, digits); exponent != digits) end = exponent;
    }
    if (end != whole) return {end - at, true};
    if (text[at] != '0') return {whole - at, false};
    const size_t other = text.substr(at, whole - at).find_first_not_of("0_");
    return {other == std::string_view::npos ? whole - at : other, false}; // 012 is a 0 followed by something else
}

std::optional<int64_t> integer_of(std::string_view literal) {
    const int base = base_of(literal);
    const std::string digits = without_underscores(literal.substr(base == 10 ? 0 : 2));
    int64_t out = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
    return error == std::errc() ? std::optional(out) : std::nullopt;
}

double real_of(std::string_view literal) {
    const std::string digits = without_underscores(literal);
    double out = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    const bool is_tiny = digits.find('-') != std::string::npos;
    return error == std::errc() || is_tiny ? out : std::numeric_limits<double>::infinity();
}

std::optional<std::string> unescape(std::string_view text, std::string &out) {
    constexpr std::string_view letters = "\\'\"abfnrtv", characters = "\\'\"\a\b\f\n\r\t\v";
    for (size_t at = 0; at < text.size();) {
        const char c = text[at++];
        if (c != '\\' || at == text.size()) {
            out += c;
            continue;
        }
        const char letter = text[at];
        if (const size_t known = letters.find(letter); known != std::string_view::npos) {
            out += characters[known];
            ++at;
        } else if (letter == '\n') { // continues on the next line
            ++at;
        } else if (letter >= '0' && letter <= '7') {
            append_utf8(out, *code_at(text, at, 1, 3, 8));
        } else if (const auto *escape = std::ranges::find(numeric_escapes, letter, &NumericEscape::letter);
                   escape != std::end(numeric_escapes)) {
            ++at;
            const auto code = code_at(text, at, escape->digits, escape->digits, 16);
            if (!code)
                return std::string("\\") + letter + ": expected " + std::to_string(escape->digits) +
                       " hexadecimal digits of a character";
            append_utf8(out, *code);
        } else if (letter == 'N') {
            return "\\N: characters by name are not supported; \\u and \\U are";
        } else { // not an escape: keep the backslash
            out += c;
        }
    }
    return std::nullopt;
}

} // namespace lamina::jinja
