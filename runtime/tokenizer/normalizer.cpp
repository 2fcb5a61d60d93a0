#include "tokenizer/normalizer.hpp"

#include "tokenizer/byte_characters.hpp"
#include "tokenizer/unicode.hpp"

namespace lamina::tokenizer {
namespace {

template <class Visit> void for_each_character(const std::string &text, const Visit &visit) {
    for (size_t at = 0; at < text.size();) {
        const Character each = character_at(text, at);
        visit(each.code);
        at += each.length;
    }
}

// The ideographs that BERT surrounds with spaces.
bool is_ideograph(char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x2F800 && c <= 0x2FA1F);
}

void clean(Text &text) {
    const auto is_line_blank = [](char32_t c) { return c == '\t' || c == '\n' || c == '\r'; };
    text.keep_if([&](char32_t c) { return is_line_blank(c) || !(c == 0 || c == 0xFFFD || is_control(c)); });
    text.map([&](char32_t c) { return is_whitespace(c) ? U' ' : c; });
}

void space_ideographs(Text &text) {
    std::vector<Text::Change> changes;
    for_each_character(text.now(), [&](char32_t c) {
        if (is_ideograph(c))
            changes.insert(changes.end(), {{' ', 0}, {c, 1}, {' ', 1}});
        else
            changes.push_back({c, 0});
    });
    text.transform(changes);
}

bool is_nmt_removed(char32_t c) {
    return (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

bool is_nmt_blank(char32_t c) {
    return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

} // namespace

Normalizer bert(const BertNormalizer &options) {
    std::vector<Normalizer> steps;
    if (options.clean_text) steps.emplace_back(clean);
    if (options.handle_chinese_chars) steps.emplace_back(space_ideographs);
    if (options.strip_accents.value_or(options.lowercase)) {
        steps.push_back(normal_form(NormalForm::nfd));
        steps.emplace_back([](Text &text) { text.keep_if([](char32_t c) { return !is_nonspacing_mark(c); }); });
    }
    if (options.lowercase) steps.push_back(lowercase());
    return sequence(std::move(steps));
}

Normalizer lowercase() {
    return [](Text &text) {
        std::vector<Text::Change> changes;
        for_each_character(text.now(), [&](char32_t c) {
            int change = 0;
            for (const char32_t lower : lower_case(c)) changes.push_back({lower, change}), change = 1;
        });
        text.transform(changes);
    };
}

Normalizer strip(bool left, bool right) {
    return [left, right](Text &text) {
        const std::string &now = text.now();
        size_t begin = 0, end = now.size();
        while (left && begin < end && is_whitespace(character_at(now, begin).code))
            begin += character_at(now, begin).length;
        while (right && end > begin && is_whitespace(character_before(now, end).code))
            end -= character_before(now, end).length;
        size_t at = 0; // offset of the character that keep_if asks about
        text.keep_if([&](char32_t c) {
            const bool kept = at >= begin && at < end;
            at += length_in_utf8(c);
            return kept;
        });
    };
}

Normalizer strip_accents() {
    return [](Text &text) { text.keep_if([](char32_t c) { return !is_mark(c); }); };
}

Normalizer replace(Pattern pattern, std::string content) {
    return [pattern = std::move(pattern), content = std::move(content)](Text &text) {
        text.replace(find_all(pattern, text.now()), content);
    };
}

Normalizer prepend(std::string words) {
    return [words = std::move(words)](Text &text) { text.prepend(words); };
}

Normalizer nmt() {
    return [](Text &text) {
        text.keep_if([](char32_t c) { return !is_nmt_removed(c); });
        text.map([](char32_t c) { return is_nmt_blank(c) ? U' ' : c; });
    };
}

Normalizer bytes_as_characters() {
    return [](Text &text) {
        std::vector<Text::Change> changes;
        changes.reserve(text.now().size());
        for (const char c : text.now()) {
            const auto byte = static_cast<unsigned char>(c);
            changes.push_back({character_of_byte(byte), (byte & 0xC0) == 0x80 ? 1 : 0});
        }
        text.transform(changes);
    };
}

Normalizer sequence(std::vector<Normalizer> normalizers) {
    return [normalizers = std::move(normalizers)](Text &text) {
        for (const Normalizer &each : normalizers) each(text);
    };
}

} // namespace lamina::tokenizer
