#include "grammar/json.hpp"

#include "base/json.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lamina::grammar::json {
namespace {

using Kind = Expression::Kind;

const Ranges to_escape{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};

Expression hexadecimal(uint32_t digits) {
    return repeat(character({{'0', '9'}, {'A', 'F'}, {'a', 'f'}}), digits, digits);
}

} // namespace

Expression space() {
    constexpr uint32_t most_indent = 20;
    return optional(
        choice({text(" "), sequence({text("\n"), repeat(character({{' ', ' '}, {'\t', '\t'}}), 0, most_indent)})}));
}

Expression enclosed(std::string_view open, Expression inside, std::string_view close) {
    return sequence({text(open), space(), std::move(inside), space(), text(close)});
}

Expression comma() { return sequence({text(","), space()}); }

Expression quoted(Expression characters) { return sequence({text("\""), std::move(characters), text("\"")}); }

// Without half a surrogate pair.
Expression any_character() {
    const Expression code =
        choice({sequence({character({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}), hexadecimal(3)}),
                sequence({character({{'D', 'D'}, {'d', 'd'}}), character({{'0', '7'}}), hexadecimal(2)})});
    Expression simple =
        character({{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
    return choice({character(others(to_escape)),
                   sequence({text("\\"), choice({std::move(simple), sequence({text("u"), code})})})});
}

Expression escaped(const Expression &e) {
    if (e.kind == Kind::text) {
        const std::string whole = json_string(e.text);
        return text(std::string_view(whole).substr(1, whole.size() - 2));
    }
    Expression out = e;
    for (Expression &part : out.parts) part = escaped(part);
    if (e.kind != Kind::character) return out;
    Expressions ways{character(both(e.ranges, others(to_escape)))};
    for (const Range &r : both(e.ranges, to_escape))
        for (char32_t c = r.first; c <= r.last; ++c) ways.push_back(escaped(text(utf8(c))));
    return choice(std::move(ways));
}

Expression none_of(const std::vector<std::string> &texts) {
    const Ranges plain = others(to_escape);
    bool may_end = true;
    std::map<char32_t, std::vector<std::string>> by_first;
    for (const std::string &t : texts) {
        may_end = may_end && !t.empty();
        if (t.empty()) continue;
        const Character c = character_at(t, 0);
        by_first[c.code].push_back(t.substr(c.length));
    }
    Ranges first;
    for (const auto &[code, rest] : by_first) first.push_back({code, code});
    Expressions ways{sequence({character(both(plain, others(first))), repeat(character(plain), 0)})};
    for (const auto &[code, rest] : by_first)
        ways.push_back(sequence({character(both(plain, {{code, code}})), none_of(rest)}));
    if (may_end) ways.push_back(text(""));
    return choice(std::move(ways));
}

AnyValue add_any_value(Rules &rules) {
    const AnyValue out{rules.add("value"), rules.add("object")};
    const uint32_t list = rules.add("list"), string = rules.add("string"), any_number = rules.add("number");
    rules.expressions[string] = quoted(repeat(any_character(), 0));
    rules.expressions[any_number] = number({});
    const auto of = [&](std::string_view open, const Expression &item, std::string_view close) {
        Expression items = sequence({item, repeat(sequence({comma(), item}), 0)});
        return choice({text(std::string(open) += close), enclosed(open, std::move(items), close)});
    };
    rules.expressions[out.object] =
        of("{", sequence({rule(string), text(":"), optional(text(" ")), rule(out.value)}), "}");
    rules.expressions[list] = of("[", rule(out.value), "]");
    rules.expressions[out.value] = choice(
        {rule(out.object), rule(list), rule(string), rule(any_number), text("true"), text("false"), text("null")});
    return out;
}

} // namespace lamina::grammar::json
