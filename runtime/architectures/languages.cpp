#include "architectures/languages.hpp"

#include "tokenizer/parts.hpp"

#include <algorithm>

namespace lamina::architectures {
namespace {

using Languages = std::map<std::string, int32_t, std::less<>>;

// Whether a text is of this form: 'a' and 'A' stand for any letter of their case.
bool is_like(std::string_view text, std::string_view form) {
    return std::ranges::equal(text, form, [](char c, char wanted) {
        if (wanted == 'a') return c >= 'a' && c <= 'z';
        if (wanted == 'A') return c >= 'A' && c <= 'Z';
        return c == wanted;
    });
}

// Without `mark` at both ends, the second one reversed; empty: it has none.
std::string_view between(std::string_view token, std::string_view begin, std::string_view end) {
    if (token.size() <= begin.size() + end.size() || !token.starts_with(begin) || !token.ends_with(end)) return {};
    return token.substr(begin.size(), token.size() - begin.size() - end.size());
}

constexpr std::string_view before = ">>", after = "<<"; // around Marian's

// What a caller calls the language of this token; empty: it is of none.
std::string_view language_of(std::string_view token) {
    for (const std::string_view form : {"aaa_Aaaa", "aa_AA"})
        if (is_like(token, form)) return token;
    if (const std::string_view name = between(token, "__", "__"); is_like(name, "aa") || is_like(name, "aaa"))
        return name;
    return between(token, before, after);
}

struct FoundLanguages {
    Languages languages = {};
    bool told_in_source = false; // what is to be written
};

FoundLanguages languages_of(const TextSettings &texts) {
    FoundLanguages out;
    const auto add = [&](std::string_view token, int32_t id) {
        if (const std::string_view name = language_of(token); !name.empty()) out.languages.emplace(name, id);
        out.told_in_source = out.told_in_source || !between(token, before, after).empty();
    };
    if (texts.tokenizer)
        for (const tokenizer::AddedToken &each : texts.tokenizer->parts().added.all()) add(each.content, each.id);
    for (const auto &[token, id] : texts.special) add(token, id);
    return out;
}

// Where a tokenizer puts the language of a text.
model::TokenChoice::At place_of(const TextSettings &texts, const Languages &languages) {
    const auto ends = [&](const std::vector<int32_t> &ids) {
        return !ids.empty() &&
               std::ranges::any_of(languages, [&](const auto &each) { return each.second == ids.back(); });
    };
    using enum model::TokenChoice::At;
    return texts.tokenizer && ends(texts.tokenizer->encode("").ids) ? source_end : source_begin;
}

} // namespace

void add_languages(const TextSettings &texts, model::OutputTokens &tokens) {
    const FoundLanguages found = languages_of(texts);
    if (found.languages.size() < 2) return;
    const model::TokenChoice of_source{.at = place_of(texts, found.languages), .ids = found.languages};
    if (found.told_in_source) {
        tokens.choices["language"] = of_source;
    } else if (tokens.start.size() == 1) {
        tokens.choices["language"] = {.place = 1, .ids = found.languages};
        tokens.choices["source_language"] = of_source;
    }
}

} // namespace lamina::architectures
