// What an answer must be, as requests say it.
#pragma once

#include "base/json_reader.hpp"

#include <lamina/grammar.hpp>

#include <optional>

namespace lamina::serve {

// By "response_format" as OpenAI has it (text, json_object, json_schema) or "structured_outputs" as vLLM does (one of
// json, regex, choice, grammar). Throws Error(input) with the place in the request.
[[nodiscard]] std::optional<Grammar> grammar_of(const JsonView &request);

} // namespace lamina::serve
