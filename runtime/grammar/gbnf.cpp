#include "grammar/languages.hpp"
#include "grammar/reader.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lamina::grammar {
namespace {

constexpr size_t most_parentheses = 200; // within each other

bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class Gbnf {
  public:
    Gbnf(std::string_view text, const std::string &name) : in_(text, name), name_(name) { number_of("root", 0); }

    Rules read() {
        for (skip(true); !in_.at_end(); skip(true)) read_rule();
        for (const auto &[name, rule] : numbers_) {
            if (rule.defined) continue;
            if (name == "root") throw Error(ErrorCode::input, name_ + ": expected a rule 'root'; it is what a text is");
            in_.fail_at(rule.place, "there is no rule " + in_quotes(name) + did_you_mean(name, defined()));
        }
        return std::move(out_);
    }

  private:
    struct Known {
        uint32_t number;
        size_t place; // where it is first named
        bool defined = false;
    };

    Known &number_of(const std::string &name, size_t place) {
        const auto known = numbers_.find(name);
        if (known != numbers_.end()) return known->second;
        return numbers_.emplace(name, Known{out_.add(name), place}).first->second;
    }
    [[nodiscard]] std::vector<std::string> defined() const {
        std::vector<std::string> out;
        for (const auto &[name, rule] : numbers_)
            if (rule.defined) out.push_back(name);
        return out;
    }

    // Blanks and comments, and line breaks where they mean nothing.
    void skip(bool lines) {
        for (;;) {
            const char c = in_.peek();
            if (c == '#') {
                while (!in_.at_end() && in_.peek() != '\n') (void)in_.character();
            } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
                (void)in_.character();
            } else {
                return;
            }
        }
    }

    std::string read_name() {
        const size_t from = in_.position();
        while (is_of_name(in_.peek())) (void)in_.character();
        if (in_.position() == from) in_.fail("expected the name of a rule");
        return std::string(in_.since(from));
    }

    void read_rule() {
        const size_t place = in_.position();
        const std::string name = read_name();
        skip(false);
        in_.expect("::=");
        skip(true);
        Known &known = number_of(name, place);
        if (known.defined) in_.fail_at(place, "there is a rule " + in_quotes(name) + " already");
        known.defined = true;
        const uint32_t number = known.number;
        out_.expressions[number] = read_choice(0);
        if (!in_.at_end() && in_.peek() != '\n' && in_.peek() != '\r') in_.fail("expected a line break");
    }

    Expression read_choice(size_t depth) {
        Expressions parts;
        do {
            skip(true);
            parts.push_back(read_sequence(depth));
        } while (take_bar());
        return choice(std::move(parts));
    }
    // It may begin a line.
    bool take_bar() {
        const size_t before = in_.position();
        skip(true);
        if (in_.take("|")) return true;
        in_.go_back(before);
        return false;
    }

    Expression read_sequence(size_t depth) {
        Expressions parts;
        for (;;) {
            const char c = in_.peek();
            if (c == '"')
                parts.push_back(read_text());
            else if (c == '[')
                parts.push_back(read_class());
            else if (in_.take("."))
                parts.push_back(character(any_character()));
            else if (c == '(')
                parts.push_back(read_group(depth + 1));
            else if (is_of_name(c))
                parts.push_back(read_call());
            else if (in_.take("%json"))
                parts.push_back(read_json());
            else
                return sequence(std::move(parts));
            while (take_repetition(in_, parts.back())) {
            }
            skip(depth > 0);
        }
    }

    Expression read_group(size_t depth) {
        if (depth > most_parentheses)
            in_.fail("expected at most " + std::to_string(most_parentheses) + " parentheses within each other");
        in_.expect("(");
        Expression out = read_choice(depth);
        skip(true);
        in_.expect(")");
        return out;
    }

    Expression read_call() {
        const size_t place = in_.position();
        return rule(number_of(read_name(), place).number);
    }

    // A schema, up to the brace that ends it.
    Expression read_json() {
        skip(false);
        const size_t place = in_.position();
        if (in_.peek() != '{') in_.fail("expected a JSON schema, which begins with '{'");
        size_t depth = 0;
        bool quoted = false;
        do {
            const char32_t c = in_.character(); // fails at the end
            if (quoted && c == '\\')
                (void)in_.character();
            else if (c == '"')
                quoted = !quoted;
            else if (!quoted && c == '{')
                ++depth;
            else if (!quoted && c == '}')
                --depth;
        } while (depth > 0);
        return add_json_schema(out_, in_.since(place), name_ + ": " + in_.place_of(place));
    }

    char32_t read_character() {
        if (!in_.take("\\")) return in_.character();
        if (in_.take("x")) return in_.hexadecimal(2);
        if (in_.take("u")) return in_.hexadecimal(4);
        if (in_.take("U")) return in_.hexadecimal(8);
        if (in_.take("n")) return '\n';
        if (in_.take("r")) return '\r';
        if (in_.take("t")) return '\t';
        for (const char c : {'\\', '"', '[', ']', '-', '^'})
            if (in_.take({&c, 1})) return static_cast<char32_t>(c);
        in_.fail(R"(after \, expected one of n, r, t, xHH, uHHHH, UHHHHHHHH, \, ", [, ], - and ^)");
    }

    Expression read_text() {
        in_.expect("\"");
        std::string out;
        while (!in_.take("\"")) {
            if (in_.at_end() || in_.peek() == '\n') in_.fail("expected '\"' at the end of a text");
            append_utf8(out, read_character());
        }
        return text(out);
    }

    Expression read_class() {
        in_.expect("[");
        const bool not_these = in_.take("^");
        Ranges ranges;
        while (!in_.take("]")) {
            if (in_.at_end() || in_.peek() == '\n') in_.fail("expected ']'");
            const size_t place = in_.position();
            Range r{read_character(), 0};
            r.last = r.first;
            if (in_.peek() == '-' && in_.peek(1) != ']' && in_.take("-")) r.last = read_character();
            if (r.last < r.first) in_.fail_at(place, "expected a range whose first character comes first");
            ranges.push_back(r);
        }
        return character(not_these ? others(ranges) : both(ranges, any_character()));
    }

    Reader in_;
    std::string name_;
    Rules out_;
    std::map<std::string, Known> numbers_;
};

} // namespace

Rules read_gbnf(std::string_view text, const std::string &name) { return Gbnf(text, name).read(); }

} // namespace lamina::grammar
