#include "grammar_text.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <vector>

namespace lamina::serve {
namespace {

// One character, or all but some, in a class of a grammar.
std::string in_class(char32_t c) {
    return (c == '\\' || c == ']' || c == '[' || c == '^' || c == '-' ? "\\" : "") + (c == '\n' ? "\\n" : utf8(c));
}

} // namespace

std::string rule_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' ? "\\n" : std::string(1, c);
    }
    return out + '"';
}

std::string rules_up_to(const std::string &rule, std::string_view mark) {
    std::vector<char32_t> characters;
    for (size_t at = 0; at < mark.size(); at += character_at(mark, at).length)
        characters.push_back(character_at(mark, at).code);
    // How much of the mark a text ends with that had so much, and then a character.
    const auto next_of = [&](size_t had, char32_t c) {
        std::vector<char32_t> text(characters.begin(), characters.begin() + static_cast<std::ptrdiff_t>(had));
        text.push_back(c);
        size_t length = std::min(text.size(), characters.size());
        while (!std::equal(characters.begin(), characters.begin() + static_cast<std::ptrdiff_t>(length),
                           text.end() - static_cast<std::ptrdiff_t>(length)))
            --length;
        return length;
    };
    std::vector<char32_t> letters = characters;
    std::ranges::sort(letters);
    letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
    std::string out;
    for (const bool without : {false, true})
        for (size_t had = 0; had < characters.size(); ++had) {
            const std::string to = rule + (without ? "-none" : "");
            out += to + std::to_string(had) + " ::= " + (without ? "\"\" | " : "") + "[^";
            for (const char32_t c : letters) out += in_class(c);
            out += "] " + to + "0";
            for (const char32_t c : letters) {
                const size_t next = next_of(had, c);
                if (next == characters.size() && without) continue;
                out += " | [" + in_class(c) + "]" + (next == characters.size() ? "" : " " + to + std::to_string(next));
            }
            out += '\n';
        }
    return out;
}

} // namespace lamina::serve
