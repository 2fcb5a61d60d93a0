// Requests in the form of OpenAI's Responses API, as those of a chat.
#pragma once

#include "openai_request.hpp"

#include "base/json.hpp"

#include <string_view>

namespace lamina::serve {

struct ResponseRequest {
    AnswerRequest answer;
    Json repeated; // what the response says of its request
};

// Of /v1/responses. Throws Error(input), with the place in the request, for anything that is wrong or not supported.
// docs/serving.md lists the fields.
[[nodiscard]] ResponseRequest response_request(std::string_view body);

} // namespace lamina::serve
