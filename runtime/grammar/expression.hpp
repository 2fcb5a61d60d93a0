// What every way to write a grammar becomes: rules, which are expressions over characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::grammar {

// Characters from first to last, both included.
struct Range {
    char32_t first = 0, last = 0;
    bool operator==(const Range &) const = default;
};
using Ranges = std::vector<Range>;

inline constexpr uint32_t any_number = UINT32_MAX; // of repetitions

struct Expression {
    enum class Kind { text, character, sequence, choice, repeat, rule };
    Kind kind = Kind::sequence; // without parts: the empty text
    std::string text{};         // in UTF-8
    Ranges ranges{};            // one of these characters
    std::vector<Expression> parts{};
    uint32_t least = 0, most = 0; // times that the only part is repeated
    uint32_t rule = 0;
};
using Expressions = std::vector<Expression>;

[[nodiscard]] Expression text(std::string_view text);
[[nodiscard]] Expression character(Ranges ranges); // one of these
[[nodiscard]] Expression sequence(Expressions parts);
[[nodiscard]] Expression choice(Expressions parts); // of no parts: nothing matches
[[nodiscard]] Expression repeat(Expression part, uint32_t least, uint32_t most = any_number);
[[nodiscard]] Expression optional(Expression part);
[[nodiscard]] Expression rule(uint32_t number);

// In order, without overlap.
[[nodiscard]] Ranges normalized(Ranges ranges);
// All characters but these. Surrogates are no characters.
[[nodiscard]] Ranges others(const Ranges &ranges);
[[nodiscard]] Ranges any_character();
[[nodiscard]] Ranges both(const Ranges &x, const Ranges &y); // that are in both

struct Rules {
    std::vector<std::string> names; // for messages
    Expressions expressions;        // by number; the first is what a whole text matches

    uint32_t add(std::string name, Expression expression = {}) {
        names.push_back(std::move(name));
        expressions.push_back(std::move(expression));
        return static_cast<uint32_t>(expressions.size() - 1);
    }
};

} // namespace lamina::grammar
