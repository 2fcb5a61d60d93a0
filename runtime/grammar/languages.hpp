// Ways to write a grammar. All throw Error(input), which says where, for what is wrong or not supported; `name` is what
// their messages call the text.
#pragma once

#include "grammar/expression.hpp"

#include <string>
#include <string_view>

namespace lamina::grammar {

// The notation of llama.cpp (grammars/README.md there): rules such as "root ::= [a-z]+ ("," root)?"; and as llguidance
// has it, %json followed by a schema.
[[nodiscard]] Rules read_gbnf(std::string_view text, const std::string &name);

// A regular expression as ECMAScript and Python have them in common, without lookaround, backreferences and word
// boundaries. What it matches as a whole, or what contains a match: as a schema's "pattern" means it.
enum class Match { whole, part };
[[nodiscard]] Expression read_regex(std::string_view pattern, const std::string &name, Match match);

// JSON that a schema accepts, or any object; docs/grammars.md lists the keywords. Adds rules.
[[nodiscard]] Expression add_json_schema(Rules &rules, std::string_view schema, const std::string &name);
[[nodiscard]] Expression add_json_object(Rules &rules);

} // namespace lamina::grammar
