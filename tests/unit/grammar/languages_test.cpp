// Grammars by rules and by regular expressions: what they match, and what they refuse.
#include "base/random.hpp"
#include "catch.hpp"

#include <lamina/grammar.hpp>

#include <regex>
#include <string>
#include <vector>

using lamina::Error;
using lamina::Grammar;

namespace {

struct Example {
    const char *grammar;
    std::vector<std::string> matching, others;
};

std::string refusal(Grammar (*read)(std::string_view, const std::string &), const std::string &text) {
    try {
        (void)read(text, "grammar");
    } catch (const Error &e) {
        CHECK(e.code() == lamina::ErrorCode::input);
        return e.what();
    }
    return "not refused";
}

std::string repeated(const std::string &text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

} // namespace

TEST_CASE("grammar: rules match what they say") {
    const std::vector<Example> examples{
        {"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "ye", "yesno", "Yes"}},
        {"root ::= [a-c]+ (\",\" [^a-c])*", {"a", "cab", "a,x", "b,é,\n"}, {"", "d", "a,a", "a,"}},
        {"# of numbers\nroot ::= item (\"; \" item){1,2} # two or three\nitem ::= [0-9]{2,}\n",
         {"12; 34", "123; 4567; 00"},
         {"12", "1; 23", "12; 34; 56; 78"}},
        {"root ::= \"(\" root? \")\" | \"[\" root \"]\"", {"()", "[()]", "([[()]])"}, {"", "(", "[]", "(]"}},
        {"root ::= \"\\x41\\u00e9\\U0001F600\\n\\\"\" .", {"Aé😀\n\"x", "Aé😀\n\"é"}, {"Aé😀\n\"", "Aé😀\n\"xy"}},
        {"root ::= a | b\na ::= \"x\" a?\nb ::= \"y\"\n     | \"z\"\n", {"x", "xxx", "y", "z"}, {"", "xy", "zz"}},
        {"root ::= (\"a\"? \"b\"?)* \"c\"", {"c", "abc", "bac", "aabbc"}, {"", "ab"}},
        {"root ::= never | \"a\"\nnever ::= \"b\" never", {"a"}, {"b", "bb", ""}},
        {"root ::= \"<\" item \">\"\nitem ::= %json {\"enum\": [1, \"}\"]} | %json {\"type\": \"null\"} \"!\"",
         {"<1>", "<\"}\">", "<null!>"},
         {"1", "<null>", "<2>"}},
        {"root ::= [\xC2\x80-\xF4\x8F\xBF\xBF]",
         {"é", "語", "😀", "\xF4\x8F\xBF\xBF"},
         {"a", "\xED\xA0\x80", "\xFF", "\xC3"}},
        {"root ::= [^\xD1\x8F-\xE2\x82\xAC]", {"a", "\xD1\x8E", "\xE2\x82\xAD", "😀"}, {"\xD1\x8F", "ḿ", "€"}},
    };
    for (const Example &example : examples) {
        INFO(example.grammar);
        const Grammar grammar = Grammar::gbnf(example.grammar);
        for (const std::string &text : example.matching) CHECK((text.empty() || grammar.matches(text)));
        for (const std::string &text : example.others) CHECK_FALSE(grammar.matches(text));
    }
}

TEST_CASE("grammar: rules that are wrong are refused, with their places") {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"", "expected a rule 'root'"},
        {"item ::= \"a\"", "expected a rule 'root'"},
        {"root ::= itme\nitem ::= \"a\"", "line 1, column 10: there is no rule 'itme'; did you mean 'item'?"},
        {"root ::= \"a", "line 1, column 12: expected '\"' at the end of a text, found the end"},
        {"root ::= [a", "expected ']', found the end"},
        {"root ::= [b-a]", "column 11: expected a range whose first character comes first"},
        {"root ::= (\"a\"\nroot", "line 2, column 5: expected ')', found the end"},
        {"root ::= \"a\" )", "expected a line break, found ')'"},
        {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: there is a rule 'root' already"},
        {"root ::= \"a\"{3,2}", "expected the lower number first"},
        {"root ::= \"a\"{99999}", "expected at most 65536"},
        {"root ::= \"\\q\"", "expected one of n, r, t, xHH"},
        {"root ::= \"\\xG0\"", "expected 2 hexadecimal digits"},
        {"root ::= \"\\uD800\"", "there is no such character"},
        {"root ::= %json [1]", "expected a JSON schema, which begins with '{', found '['"},
        {"root ::= %json {\"a\": {}", "expected a character, found the end"},
        {"root ::= %json {\"not\": {}}", "line 1, column 16: /not: this keyword is not supported"},
        {"root = \"a\"", "expected '::=', found '='"},
        {"root ::= root \"a\" | \"b\"", "the rule 'root' begins with itself"},
        {"root ::= a\na ::= \"x\"? b\nb ::= a | \"y\"", "begins with itself"},
        {"root ::= e? c\ne ::= \"x\"?\nc ::= e c \"a\" | \"b\"", "the rule 'c' begins with itself"},
        {"root ::= \"a\" root", "there is no text that it matches"},
        {"root ::= " + std::string(300, '('), "expected at most 200 parentheses"},
        {"root ::= \"\"" + repeated(" | \"a\"{60000}", 5), "too large"},
        {"root ::= \"\xFF\"", "expected UTF-8"},
    };
    for (const auto &[text, why] : wrong) {
        INFO(text.substr(0, 80));
        CHECK_THAT(refusal(Grammar::gbnf, text), matchers::contains(why));
    }
}

TEST_CASE("grammar: regular expressions match what std::regex does") {
    lamina::Random random(7); // std::regex takes long for repetitions within repetitions
    const auto pick = [&](size_t n) { return static_cast<size_t>(random.next() % n); };
    const std::vector<std::string> atoms{"a",   "b",   "c",      ".",   "[ab]",   "[^a]",
                                         "\\w", "\\d", "[b-c1]", "\\.", "[\\d-]", "1"};
    const std::vector<std::string> times{"", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?"};
    const auto make = [&](auto &&self, int depth) -> std::string {
        std::string out;
        for (size_t i = pick(3) + 1; i-- > 0;) {
            if (depth > 0 && pick(3) == 0)
                out += (pick(2) == 0 ? "(" : "(?:") + self(self, depth - 1) + ")";
            else
                out += atoms[pick(atoms.size())];
            out += times[pick(times.size())];
        }
        return pick(4) == 0 ? out + "|" + self(self, 0) : out;
    };
    size_t matched = 0, all = 0;
    for (int i = 0; i < 300; ++i) {
        const std::string pattern = make(make, 1);
        INFO(pattern);
        const Grammar grammar = Grammar::regex(pattern);
        const std::regex expected(pattern);
        for (int k = 0; k < 25; ++k, ++all) {
            std::string text;
            for (size_t n = pick(6); n-- > 0;) text += "abc1.-"[pick(6)];
            INFO(text);
            const bool matches = std::regex_match(text, expected);
            REQUIRE(grammar.matches(text) == matches);
            matched += matches ? 1 : 0;
        }
    }
    CHECK(matched > all / 20);
}

TEST_CASE("grammar: regular expressions beyond what std::regex knows") {
    CHECK(Grammar::regex("^[é-ü]+$").matches("éü"));
    CHECK(Grammar::regex("\\u00e9\\x41\\u{1F600}").matches("éA😀"));
    CHECK(Grammar::regex("(?P<year>[0-9]{4})-(?<month>[0-9]{2})").matches("2026-11"));
    CHECK(Grammar::regex("a{,2}").matches("aa"));
    CHECK(Grammar::regex("{\"a\"}").matches("{\"a\"}"));
    CHECK_FALSE(Grammar::regex(".").matches("\n"));
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"(?=a)", "lookaround and flags are not supported"},
        {"(?<!a)b", "lookaround and flags are not supported"},
        {"(a)\\1", "\\1 is not supported"},
        {"\\bword", "\\b is not supported"},
        {"a^b", "at the ends of the pattern alone"},
        {"(a$)b", "at the ends of the pattern alone"},
        {"*a", "expected something to repeat"},
        {"(a", "expected ')', found the end"},
        {"a)", "expected the end of the pattern, found ')'"},
        {"[z-a]", "expected a range of characters"},
        {"[a", "expected ']', found the end"},
        {"\\p{L}", "\\p is not supported"},
    };
    for (const auto &[text, why] : wrong) {
        INFO(text);
        CHECK_THAT(refusal(Grammar::regex, text), matchers::contains(why));
    }
}
