// What an answer must be, as requests say it.
#pragma once

#include "base/json_reader.hpp"

#include <lamina/grammar.hpp>

#include <functional>

namespace lamina::serve {

// Reads what the request says, which may take much memory. Throws Error(input) with the place in the request.
using MakeGrammar = std::function<Grammar()>;

// By "response_format" as OpenAI has it (text, json_object, json_schema) or "structured_outputs" as vLLM does (one of
// json, regex, choice, grammar). Null if the request has neither.
[[nodiscard]] MakeGrammar grammar_of(const JsonView &request);

} // namespace lamina::serve
