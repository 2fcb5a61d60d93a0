#include "tokenizer/unicode.hpp"

#include "base/utf8.hpp"
#include "tokenizer/unicode_tables.hpp"

#include <algorithm>
#include <iterator>

namespace lamina::tokenizer {
namespace {

// The entry of a sorted table that holds the code, or none.
template <class Entry, size_t N> const Entry *entry_of(const Entry (&table)[N], char32_t code) {
    const auto *after = std::upper_bound(std::begin(table), std::end(table), code,
                                         [](char32_t c, const Entry &entry) { return c < entry.first; });
    return after != std::begin(table) && code <= std::prev(after)->last ? std::prev(after) : nullptr;
}

uint32_t continuation(char byte) { return static_cast<unsigned char>(byte) & 0x3Fu; }

} // namespace

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

std::u32string lower_case(char32_t code) {
    if (code < 0x80) return {code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code};
    if (code == 0x130) return {'i', 0x307}; // the one that becomes two
    const auto *run = entry_of(lower_case_runs, code);
    if (run == nullptr || (code - run->first) % run->step != 0) return {code};
    return {static_cast<char32_t>(static_cast<int64_t>(code) + run->shift)};
}

char32_t stand_in(char32_t code) {
    const auto *entry = entry_of(stand_ins, code);
    return entry != nullptr ? entry->other : code;
}

} // namespace lamina::tokenizer
