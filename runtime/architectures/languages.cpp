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

// What stands between these two; empty: the token is not of that form.
std::string_view between(std::string_view token, std::string_view left, std::string_view right) {
    if (token.size() <= left.size() + right.size() || !token.starts_with(left) || !token.ends_with(right)) return {};
    return token.substr(left.size(), token.size() - left.size() - right.size());
}

// What a caller calls the language of this token; empty: it is of none.
std::string_view language_of(LanguageTokens kind, std::string_view token) {
    switch (kind) {
    case LanguageTokens::none:
        break;
    case LanguageTokens::marian:
        return between(token, ">>", "<<");
    case LanguageTokens::m2m_100: {
        if (is_like(token, "aaa_Aaaa")) return token;
        const std::string_view name = between(token, "__", "__");
        if (is_like(name, "aa") || is_like(name, "aaa")) return name;
        break;
    }
    case LanguageTokens::mbart:
        if (is_like(token, "aa_AA")) return token;
        break;
    }
    return {};
}

Languages languages_of(LanguageTokens kind, const TextSettings &texts) {
    Languages out;
    const auto add = [&](std::string_view token, int32_t id) {
        if (const std::string_view name = language_of(kind, token); !name.empty()) out.emplace(name, id);
    };
    if (texts.tokenizer)
        for (const tokenizer::AddedToken &each : texts.tokenizer->parts().added.all()) add(each.content, each.id);
    for (const auto &[token, id] : texts.special) add(token, id);
    return out;
}

bool is_one_of(const Languages &languages, int32_t token) {
    return std::ranges::any_of(languages, [&](const auto &each) { return each.second == token; });
}

// Where a tokenizer puts the language of a text.
model::TokenChoice::At place_of(const TextSettings &texts, const Languages &languages) {
    using enum model::TokenChoice::At;
    if (!texts.tokenizer) return source_begin;
    const std::vector<int32_t> ids = texts.tokenizer->encode("").ids;
    return !ids.empty() && is_one_of(languages, ids.back()) ? source_end : source_begin;
}

} // namespace

void add_languages(LanguageTokens kind, const TextSettings &texts, model::OutputTokens &tokens) {
    const Languages languages = languages_of(kind, texts);
    if (languages.size() < 2) return;
    const model::TokenChoice of_source{.at = place_of(texts, languages), .ids = languages};
    if (kind == LanguageTokens::marian) {
        tokens.choices["language"] = of_source;
    } else if (tokens.start.size() == 1) { // is the language, or comes before it
        const size_t place = is_one_of(languages, tokens.start.front().front()) ? 0 : 1;
        tokens.choices["language"] = {.place = place, .ids = languages};
        tokens.choices["source_language"] = of_source;
    }
}

} // namespace lamina::architectures
