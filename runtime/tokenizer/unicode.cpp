#include "tokenizer/unicode.hpp"

#include "tokenizer/unicode_tables.hpp"

#include <algorithm>
#include <iterator>

namespace lamina::tokenizer {
namespace {

// The entry of a sorted table that contains the code, or nullptr.
template <class Entry, size_t N> const Entry *entry_of(const Entry (&table)[N], char32_t code) {
    const auto *after = std::upper_bound(std::begin(table), std::end(table), code,
                                         [](char32_t c, const Entry &entry) { return c < entry.first; });
    return after != std::begin(table) && code <= std::prev(after)->last ? std::prev(after) : nullptr;
}

} // namespace

std::string with_replacements(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (size_t at = 0; at < bytes.size();) {
        const Utf8Prefix prefix = utf8_prefix(bytes, at);
        out += prefix.whole ? bytes.substr(at, prefix.length) : "\xEF\xBF\xBD";
        at += prefix.length;
    }
    return out;
}

bool is_whitespace(char32_t code) { return entry_of(whitespace_ranges, code) != nullptr; }
bool is_punctuation(char32_t code) { return entry_of(punctuation_ranges, code) != nullptr; }
bool is_control(char32_t code) { return code == 0 || entry_of(control_ranges, code) != nullptr; }
bool is_nonspacing_mark(char32_t code) { return entry_of(nonspacing_mark_ranges, code) != nullptr; }
bool is_mark(char32_t code) { return entry_of(mark_ranges, code) != nullptr; }
bool is_numeric(char32_t code) { return entry_of(numeric_ranges, code) != nullptr; }
bool is_word(char32_t code) { return entry_of(word_ranges, code) != nullptr; }
bool normalizes(char32_t code) { return code >= 0x80 && entry_of(normalizing_ranges, code) != nullptr; }
bool is_late_mark(char32_t code) { return entry_of(late_mark_ranges, code) != nullptr; }

uint32_t script_of(char32_t code) {
    const auto *entry = entry_of(script_ranges, code);
    return entry != nullptr ? entry->script : 0;
}

std::u32string lower_case(char32_t code) {
    if (code < 0x80) return {code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code};
    if (code == 0x130) return {'i', 0x307}; // the only one that becomes two
    const auto *run = entry_of(lower_case_runs, code);
    if (run == nullptr || (code - run->first) % run->step != 0) return {code};
    return {static_cast<char32_t>(static_cast<int64_t>(code) + run->shift)};
}

std::string lower_case(std::string_view utf8) {
    std::string out;
    for (size_t at = 0; at < utf8.size();) {
        const Character character = character_at(utf8, at);
        for (const char32_t code : lower_case(character.code)) append_utf8(out, code);
        at += character.length;
    }
    return out;
}

char32_t stand_in(char32_t code) {
    const auto *entry = entry_of(stand_ins, code);
    return entry != nullptr ? entry->other : code;
}

} // namespace lamina::tokenizer
