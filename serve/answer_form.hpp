// In which form an API tells answers.
#pragma once

#include "answer_events.hpp"
#include "openai_result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

struct AnswerForm {
    const char *id = "";              // what ids begin with
    bool chat = true;                 // false: prompts are continued; all of an answer is text
    std::string_view last_event = ""; // of a stream
    std::function<std::unique_ptr<AnswerEvents>(const AnswerHead &head, size_t choice)> events;
    std::function<std::string(const AnswerHead &head, const std::vector<Choice> &choices, const Usage &usage)> whole;
    std::function<std::string(int status, const std::string &why)> error_event;
};

[[nodiscard]] AnswerForm openai_form(bool chat);                              // openai_events.hpp
[[nodiscard]] AnswerForm response_form(const Json &repeated);                 // response_result.hpp
[[nodiscard]] AnswerForm message_form(const std::vector<std::string> &stops); // message_result.hpp

} // namespace lamina::serve
