// Grammars: the first byte says in which way the rest is written.
#include "fuzz.hpp"

#include <lamina/grammar.hpp>

void test::read(std::string_view input) {
    if (input.empty()) return;
    const std::string_view rest = input.substr(1);
    const lamina::Grammar grammar = input.front() == '{'   ? lamina::Grammar::json_schema(input)
                                    : input.front() == '/' ? lamina::Grammar::regex(rest)
                                                           : lamina::Grammar::gbnf(input);
    for (const char *text :
         {"", "{\"name\": \"Ann\", \"age\": 31}", "[1, 2.5e3, null]", "aaaaaaaaaaaaaaaa", "\xC3\xA9"})
        (void)grammar.matches(text);
}
