#include "template/characters.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace lamina::jinja {
namespace {

utf8proc_category_t category_of(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }
constexpr char32_t sharp_s = 0xDF; // the only common letter whose upper case is two letters

char32_t to_lower(char32_t code) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}
bool has_case(char32_t code) {
    const auto signed_code = static_cast<utf8proc_int32_t>(code);
    return utf8proc_toupper(signed_code) != signed_code || utf8proc_tolower(signed_code) != signed_code;
}

void append_lower(std::string &out, char32_t code) { append_utf8(out, to_lower(code)); }
void append_upper(std::string &out, char32_t code) {
    if (code == sharp_s)
        out += "SS";
    else
        append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}
void append_title(std::string &out, char32_t code) {
    if (code == sharp_s)
        out += "Ss";
    else
        append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code))));
}

template <class Change> std::string changed(std::string_view text, const Change &change) {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const auto [code, length] = character_at(text, at);
        change(out, code);
        at += length;
    }
    return out;
}

bool is_among(const std::string *characters, std::string_view text, size_t at, const Character &each) {
    if (characters == nullptr) return is_space(each.code);
    return characters->find(text.substr(at, each.length)) != std::string::npos;
}

// The line ends of str.splitlines().
bool ends_line(char32_t code) {
    return (code >= '\n' && code <= '\r') || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

std::vector<std::string_view> split_at_spaces(std::string_view text, int64_t most) {
    std::vector<std::string_view> out;
    size_t at = end_of_space(text, 0);
    while (at < text.size()) {
        if (most >= 0 && static_cast<int64_t>(out.size()) == most) {
            out.push_back(text.substr(at)); // including trailing white space
            break;
        }
        const size_t begin = at;
        while (at < text.size() && !is_space(character_at(text, at).code)) at += character_at(text, at).length;
        out.push_back(text.substr(begin, at - begin));
        at = end_of_space(text, at);
    }
    return out;
}

} // namespace

bool is_space(char32_t code) {
    return (code >= '\t' && code <= '\r') || (code >= 0x1C && code <= ' ') || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

bool is_printable(char32_t code) {
    if (code == ' ') return true;
    const utf8proc_category_t category = category_of(code);
    return category != UTF8PROC_CATEGORY_CN &&
           category < UTF8PROC_CATEGORY_ZS; // the categories from ZS on are separators and controls
}

bool is_letter(char32_t code) {
    const utf8proc_category_t category = category_of(code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

size_t end_of_space(std::string_view text, size_t at) {
    while (at < text.size() && is_space(character_at(text, at).code)) at += character_at(text, at).length;
    return at;
}

std::string_view strip(std::string_view text, Side side, const std::string *characters) {
    while (side != Side::right && !text.empty()) {
        const Character first = character_at(text, 0);
        if (!is_among(characters, text, 0, first)) break;
        text.remove_prefix(first.length);
    }
    while (side != Side::left && !text.empty()) {
        const Character last = character_before(text, text.size());
        if (!is_among(characters, text, text.size() - last.length, last)) break;
        text.remove_suffix(last.length);
    }
    return text;
}

std::string upper_case(std::string_view text) { return changed(text, append_upper); }
std::string lower_case(std::string_view text) { return changed(text, append_lower); }

std::string capitalized(std::string_view text) {
    bool is_first = true;
    return changed(text, [&](std::string &out, char32_t code) {
        std::exchange(is_first, false) ? append_title(out, code) : append_lower(out, code);
    });
}

std::string title_case(std::string_view text) {
    bool in_word = false;
    return changed(text, [&](std::string &out, char32_t code) {
        const bool begins_word = !std::exchange(in_word, has_case(code));
        begins_word ? append_title(out, code) : append_lower(out, code);
    });
}

std::string words_capitalized(std::string_view text) {
    constexpr std::string_view separators = "-({[<";
    bool in_word = false;
    return changed(text, [&](std::string &out, char32_t code) {
        const bool separates =
            is_space(code) || (code < 0x80 && separators.find(static_cast<char>(code)) != std::string_view::npos);
        const bool begins_word = !std::exchange(in_word, !separates);
        begins_word ? append_upper(out, code) : append_lower(out, code);
    });
}

void append_hex(std::string &out, char32_t code, int digits) {
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += "0123456789abcdef"[code >> shift & 15];
}

size_t find_text(std::string_view text, std::string_view part, size_t from) {
    if (from > text.size()) return std::string_view::npos;
    if (part.empty()) return from;
    // The time of find() grows with the product of both lengths, so a hostile template could make it quadratic.
    constexpr size_t few = 32;
    if (part.size() <= few) return text.find(part, from);
    const auto found = std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(),
                                   std::boyer_moore_searcher(part.begin(), part.end()));
    return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

std::vector<std::string_view> split(std::string_view text, const std::string *separator, int64_t most) {
    if (separator == nullptr) return split_at_spaces(text, most);
    std::vector<std::string_view> out;
    size_t begin = 0;
    while (most < 0 || static_cast<int64_t>(out.size()) < most) {
        const size_t end = find_text(text, *separator, begin);
        if (end == std::string_view::npos) break;
        out.push_back(text.substr(begin, end - begin));
        begin = end + separator->size();
    }
    out.push_back(text.substr(begin));
    return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && !ends_line(character_at(text, end).code)) end += character_at(text, end).length;
        size_t next = end;
        if (next < text.size()) next += character_at(text, next).length;
        if (end < text.size() && text[end] == '\r' && next < text.size() && text[next] == '\n') ++next;
        out.push_back(text.substr(at, end - at));
        at = next;
    }
    return out;
}

} // namespace lamina::jinja
