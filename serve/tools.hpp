// Tools that a request offers to a model, in the form of OpenAI's API.
#pragma once

#include "tool_format.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <lamina/grammar.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lamina::serve {

struct Tool {
    std::string name;
    std::string schema; // of its arguments, as JSON
};

struct Tools {
    enum class Choice { automatic, required }; // whether there must be a call
    std::vector<Tool> tools;                   // those that may be called
    Choice choice = Choice::automatic;
    bool parallel = true; // several calls may be made at once
    std::string json;     // all tools of the request, for the chat template
};

// "tools", "tool_choice" and "parallel_tool_calls". Nothing if there are none, or if none may be called. Throws
// Error(input) with the place in the request.
[[nodiscard]] std::optional<Tools> tools_of(const JsonView &request);

// Answers with calls that have arguments as the tools want them: other text first, or none if there must be a call. A
// model may think before that, or does if its prompt has opened a thought.
[[nodiscard]] Grammar grammar_of(const Tools &tools, const ToolFormat &format, bool thinks);

// "messages", for a chat template: arguments of calls are JSON there, which the API has as text.
[[nodiscard]] Json messages_for_template(const JsonView &messages);
// The same messages for ToolFormat::short_ids: other ids of calls become nine letters, equal ones the same.
[[nodiscard]] std::string with_short_ids(const std::string &messages);

} // namespace lamina::serve
