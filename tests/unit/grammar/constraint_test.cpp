// Which tokens may follow is what each token says by itself.
#include "base/random.hpp"
#include "catch.hpp"
#include "grammar/parts.hpp"

#include <memory>
#include <string>
#include <vector>

using namespace lamina;
using grammar::Constraint;
using grammar::TokenTrie;

namespace {

// Whether some text of the grammar begins so.
bool is_beginning(const Grammar &grammar, const std::string &text) {
    grammar::Automaton automaton(grammar.parts().network);
    uint32_t at = grammar::Automaton::begin;
    for (const char byte : text) at = automaton.step(at, static_cast<uint8_t>(byte));
    return at != grammar::Automaton::nowhere;
}

std::vector<std::string> tokens_of_parts(Random &random, const std::string &from) {
    std::vector<std::string> out{""}; // a special one
    for (int byte = 0; byte < 256; ++byte) out.emplace_back(1, static_cast<char>(byte));
    for (int i = 0; i < 400; ++i) out.push_back(from.substr(random.next() % from.size(), 1 + random.next() % 6));
    return out;
}

} // namespace

TEST_CASE("constraint: the tokens that may follow are those whose bytes may follow") {
    const std::string text =
        R"({"name": "Zoë 😀", "tags": ["a", "b"], "n": -12.5e3, "of": {"x": null, "y": [true, {}]}})";
    Random random(11);
    const auto trie = std::make_shared<const TokenTrie>(tokens_of_parts(random, text));
    const std::vector<Grammar> grammars{
        Grammar::json_object(), Grammar::gbnf("root ::= [^x]* | \"{\" .{0,9}"),
        Grammar::json_schema(R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}}, "n": {"type": "number"}},
            "required": ["name"], "additionalProperties": true})")};
    for (const Grammar &each : grammars) {
        const auto constraint = grammar::constraint_of(each, trie, trie);
        CHECK(grammar::constraint_of(each, trie, trie) == constraint);
        for (int round = 0; round < 10; ++round) {
            Constraint::Place place;
            std::vector<int32_t> tokens;
            std::string begun;
            for (int step = 0; step < 30; ++step) {
                const auto set = constraint->after(tokens, place);
                std::vector<int32_t> allowed, found;
                set->for_each([&](int32_t token) { found.push_back(token); });
                for (int32_t token = 0; token < static_cast<int32_t>(trie->size()); ++token) {
                    const std::string &bytes = trie->bytes_of(token);
                    if (!bytes.empty() && is_beginning(each, begun + bytes)) allowed.push_back(token);
                }
                REQUIRE(found == allowed);
                CHECK(set->count() == allowed.size());
                CHECK(set->may_end == each.matches(begun));
                if (allowed.empty()) break;
                tokens.push_back(allowed[random.next() % allowed.size()]);
                begun += trie->bytes_of(tokens.back());
            }
        }
    }
}

TEST_CASE("constraint: after tokens that the grammar does not allow there is nothing") {
    const auto trie = std::make_shared<const TokenTrie>(std::vector<std::string>{"", "a", "b", "ab", "ab"});
    const auto constraint = grammar::constraint_of(Grammar::gbnf("root ::= \"ab\"+"), trie, trie);
    Constraint::Place place;
    const auto of = [&](std::vector<int32_t> tokens) {
        std::vector<int32_t> out;
        constraint->after(tokens, place)->for_each([&](int32_t token) { out.push_back(token); });
        return out;
    };
    CHECK(of({}) == std::vector<int32_t>{1, 3, 4}); // tokens of the same bytes, too
    CHECK(of({1}) == std::vector<int32_t>{2});
    CHECK(of({1, 2, 4}) == std::vector<int32_t>{1, 3, 4});
    CHECK(of({1, 1}).empty()); // a shorter text, from its beginning
    CHECK(of({1, 0}).empty());
    CHECK(of({1, 99}).empty());
    CHECK_FALSE(constraint->after(std::vector<int32_t>{1, 99}, place)->may_end);
}

TEST_CASE("constraint: tokens at the beginning of a text may have other bytes") {
    const auto first = std::make_shared<const TokenTrie>(std::vector<std::string>{"a", "b"});
    const auto rest = std::make_shared<const TokenTrie>(std::vector<std::string>{" a", " b"});
    const auto constraint = grammar::constraint_of(Grammar::gbnf("root ::= \"a b\""), first, rest);
    Constraint::Place place;
    CHECK(constraint->after({}, place)->has(0));
    CHECK_FALSE(constraint->after({}, place)->has(1));
    CHECK(constraint->after(std::vector<int32_t>{0}, place)->has(1));
    CHECK(constraint->after(std::vector<int32_t>{0, 1}, place)->may_end);
}

TEST_CASE("constraint: what repeats at its end takes no more memory as a text grows") {
    grammar::Automaton automaton(Grammar::gbnf("root ::= item (\",\" root)?\nitem ::= [a-z] item?").parts().network);
    uint32_t at = grammar::Automaton::begin;
    size_t early = 0;
    for (int i = 0; i < 2000; ++i) {
        for (const char c : std::string("abc,")) at = automaton.step(at, static_cast<uint8_t>(c));
        if (i == 10) early = automaton.bytes();
    }
    CHECK(at != grammar::Automaton::nowhere);
    CHECK(automaton.bytes() == early);
}
