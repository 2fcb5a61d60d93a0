#include "template/source.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::jinja {
namespace {

constexpr size_t longest_template = 1 << 20; // bytes

std::string with_unix_line_ends(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
        out += text[i] == '\r' ? '\n' : text[i];
    }
    return out;
}

// The line around a place. A long line is cut, because some templates are a single line.
std::string_view line_around(std::string_view text, size_t place) {
    constexpr size_t reach = 50; // bytes
    const auto is_inside_character = [&](size_t at) {
        return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    size_t begin = place, end = place;
    while (begin > 0 && text[begin - 1] != '\n' && (place - begin < reach || is_inside_character(begin))) --begin;
    while (end < text.size() && text[end] != '\n' && (end - place < reach || is_inside_character(end))) ++end;
    return text.substr(begin, end - begin);
}

} // namespace

Source::Source(std::string_view text, std::string name) : name_(std::move(name)) {
    if (text.size() > longest_template)
        throw Error(ErrorCode::input, name_ + ": expected a template of at most " + std::to_string(longest_template) +
                                          " bytes, found " + std::to_string(text.size()));
    if (const size_t bad = first_invalid_utf8(text); bad != text.size())
        throw Error(ErrorCode::input, name_ + ": invalid UTF-8 at offset " + std::to_string(bad));
    text_ = with_unix_line_ends(text);
    if (text_.ends_with('\n')) text_.pop_back();
}

void Source::fail(size_t place, const std::string &message) const {
    const std::string_view before = std::string_view(text_).substr(0, place);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t column = count_characters(before.substr(before.rfind('\n') + 1)) + 1; // npos + 1 is 0
    throw Error(ErrorCode::input, name_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message +
                                      ", in " + in_quotes(line_around(text_, place)));
}

} // namespace lamina::jinja
