// What Anthropic's Messages API answers, as text.
#pragma once

#include "answer_parts.hpp"
#include "openai_result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// Why an answer ended. `stops`: the texts of the request before which it may end.
struct MessageEnd {
    Finish finish = Finish::length;
    bool called = false; // a tool
    std::vector<std::string> stops{};
};

[[nodiscard]] std::string message_json(const AnswerHead &head, const Choice &choice, const MessageEnd &end,
                                       const Usage &usage);

// Server-sent events: "event: TYPE\ndata: JSON\n\n". What is written comes as blocks, one after the other: thoughts,
// texts and calls of tools.
class MessageEvents {
  public:
    [[nodiscard]] static std::string begin(const AnswerHead &head, size_t prompt_tokens);
    [[nodiscard]] std::string of(const AnswerPart &part, const std::string &id_of_call);
    [[nodiscard]] std::string finish(const MessageEnd &end, const Usage &usage);

  private:
    std::string open(AnswerPart::Kind kind, Json block);
    std::string close();

    size_t block_ = 0; // its number
    bool is_open_ = false;
    AnswerPart::Kind kind_{}; // of the block that is open
};

[[nodiscard]] std::string message_error_event(const std::string &error); // the JSON of an error

} // namespace lamina::serve
