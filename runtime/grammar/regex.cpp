#include "grammar/languages.hpp"
#include "grammar/reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace lamina::grammar {
namespace {

constexpr size_t most_groups = 200; // within each other

const Ranges digits{{'0', '9'}};
const Ranges word_characters{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges blanks{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges line_breaks{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

class Pattern {
  public:
    Pattern(std::string_view pattern, const std::string &name, Match match) : in_(pattern, name), match_(match) {}

    Expression read() {
        Expressions parts;
        do {
            parts.push_back(read_alternative());
        } while (in_.take("|"));
        if (!in_.at_end()) in_.fail("expected the end of the pattern");
        return choice(std::move(parts));
    }

  private:
    // Of the whole pattern: only there are '^' and '$' understood, at its ends.
    Expression read_alternative() {
        const Expression anything = repeat(character(any_character()), 0);
        Expressions parts;
        if (!in_.take("^") && match_ == Match::part) parts.push_back(anything);
        parts.push_back(read_sequence(0));
        if (!in_.take("$") && match_ == Match::part) parts.push_back(anything);
        return sequence(std::move(parts));
    }

    Expression read_choice(size_t depth) {
        Expressions parts;
        do {
            parts.push_back(read_sequence(depth));
        } while (in_.take("|"));
        return choice(std::move(parts));
    }

    Expression read_sequence(size_t depth) {
        Expressions parts;
        while (!in_.at_end() && in_.peek() != '|' && in_.peek() != ')') {
            if (in_.peek() == '$' && depth == 0 && (in_.peek(1) == '|' || in_.peek(1) == '\0')) break;
            if (in_.peek() == '^' || in_.peek() == '$')
                in_.fail("'^' and '$' are supported at the ends of the pattern alone; expected another character");
            const bool repeats = in_.peek() == '*' || in_.peek() == '+' || in_.peek() == '?';
            if (repeats) in_.fail("expected something to repeat");
            parts.push_back(read_part(depth));
            while (repeats_next() && take_repetition(in_, parts.back())) (void)in_.take("?"); // lazy: the same texts
        }
        return sequence(std::move(parts));
    }

    // A '{' that begins no number of repetitions stands for itself.
    [[nodiscard]] bool repeats_next() const {
        return in_.peek() != '{' || (in_.peek(1) >= '0' && in_.peek(1) <= '9') || in_.peek(1) == ',';
    }

    Expression read_part(size_t depth) {
        if (in_.take("(")) {
            if (depth == most_groups)
                in_.fail("expected at most " + std::to_string(most_groups) + " groups within each other");
            if (in_.take("?") && !in_.take(":")) {
                const bool named = in_.take("P<") || (in_.is_next("<") && in_.peek(1) != '=' && in_.peek(1) != '!');
                if (!named) in_.fail("expected '?:' or a name: lookaround and flags are not supported");
                while (!in_.take(">")) (void)in_.character();
            }
            Expression out = read_choice(depth + 1);
            in_.expect(")");
            return out;
        }
        if (in_.take("[")) return character(read_class());
        if (in_.take(".")) return character(others(line_breaks));
        if (in_.take("\\")) return character(read_escape(false));
        const char32_t c = in_.character();
        return character({{c, c}});
    }

    // What comes after a backslash.
    Ranges read_escape(bool in_class) {
        const auto one = [](char32_t c) { return Ranges{{c, c}}; };
        const size_t place = in_.position();
        const char32_t c = in_.character();
        switch (c) {
        case 'd':
            return digits;
        case 'D':
            return others(digits);
        case 'w':
            return word_characters;
        case 'W':
            return others(word_characters);
        case 's':
            return blanks;
        case 'S':
            return others(blanks);
        case 'n':
            return one('\n');
        case 'r':
            return one('\r');
        case 't':
            return one('\t');
        case 'f':
            return one('\f');
        case 'v':
            return one('\v');
        case '0':
            return one(0);
        case 'x':
            return one(in_.hexadecimal(2));
        case 'u': {
            if (!in_.take("{")) return one(in_.hexadecimal(4));
            int count = 0;
            while (in_.peek(static_cast<size_t>(count)) != '}' && count < 9) ++count;
            const char32_t code = in_.hexadecimal(count);
            in_.expect("}");
            return one(code);
        }
        case 'b':
            if (in_class) return one('\b');
            [[fallthrough]];
        default:
            break;
        }
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
        if (letter)
            in_.fail_at(place, "\\" + utf8(c) +
                                   " is not supported; expected one of \\d, \\w, \\s, \\D, \\W, \\S, \\n, " +
                                   "\\r, \\t, \\f, \\v, \\xHH, \\uHHHH or an escaped sign");
        return one(c);
    }

    Ranges read_class() {
        const bool not_these = in_.take("^");
        Ranges out;
        while (!in_.take("]")) {
            if (in_.at_end()) in_.fail("expected ']'");
            const size_t place = in_.position();
            const Ranges first = read_class_item();
            const bool range = in_.peek() == '-' && in_.peek(1) != ']' && in_.peek(1) != '\0';
            if (!range || is_set(first)) {
                out.insert(out.end(), first.begin(), first.end());
                continue;
            }
            in_.expect("-");
            const Ranges last = read_class_item();
            if (is_set(last) || last.front().first < first.front().first)
                in_.fail_at(place, "expected a range of characters, the first one first");
            out.push_back({first.front().first, last.front().first});
        }
        return not_these ? others(out) : both(out, any_character());
    }
    static bool is_set(const Ranges &r) { return r.size() != 1 || r.front().first != r.front().last; }

    Ranges read_class_item() {
        if (in_.take("\\")) return read_escape(true);
        const char32_t c = in_.character();
        return {{c, c}};
    }

    Reader in_;
    Match match_;
};

} // namespace

Expression read_regex(std::string_view pattern, const std::string &name, Match match) {
    return Pattern(pattern, name, match).read();
}

} // namespace lamina::grammar
