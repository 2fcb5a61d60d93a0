// Requests about tokens and prompts, in the forms of vLLM and llama.cpp, from text. All functions throw Error(input),
// with the place in the request, for anything that is wrong or not supported. docs/serving.md lists the fields.
#pragma once

#include "openai_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// In all of them, `model` is empty if the request names none: then it is about the only one.

// Of /apply-template: a conversation.
[[nodiscard]] AnswerRequest template_request(std::string_view body);

// Of /tokenize: a text, or a conversation.
struct TokenizeRequest {
    std::string field; // that has what is to be tokenized: "prompt", "content" or "messages"
    AnswerRequest of;  // its only prompt, or its conversation; and its model
    bool special = false;
    bool entries = false; // of the vocabulary: what vLLM calls the tokens' strings
    bool pieces = false;  // of the text, beside each id
};
[[nodiscard]] TokenizeRequest tokenize_request(std::string_view body);

// Of /detokenize.
struct DetokenizeRequest {
    std::string model;
    std::vector<int32_t> tokens;
};
[[nodiscard]] DetokenizeRequest detokenize_request(std::string_view body);

} // namespace lamina::serve
