// Requests in the form of Anthropic's Messages API, as those of a chat.
#pragma once

#include "openai_request.hpp"

#include <string_view>

namespace lamina::serve {

// Of /v1/messages, and of /v1/messages/count_tokens, which has no max_tokens. Throws Error(input), with the place in
// the request, for anything that is wrong or not supported. docs/serving.md lists the fields.
[[nodiscard]] AnswerRequest message_request(std::string_view body);
[[nodiscard]] AnswerRequest count_request(std::string_view body);

} // namespace lamina::serve
