// What Anthropic's Messages API answers, as text.
#pragma once

#include "answer_parts.hpp"
#include "openai_result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

[[nodiscard]] std::string message_json(const AnswerHead &head, const Choice &choice, const AnswerEnd &end,
                                       const Usage &usage);

// Server-sent events: "event: TYPE\ndata: JSON\n\n". What is written comes as blocks, one after the other: thoughts,
// texts and calls of tools.
class MessageEvents : public AnswerEvents {
  public:
    explicit MessageEvents(const AnswerHead &head) : head_(head) {}

    [[nodiscard]] std::string begin(size_t prompt_tokens) override;
    [[nodiscard]] std::string of(const AnswerPart &part) override;
    [[nodiscard]] std::string finish(const AnswerEnd &end, const Usage &usage) override;

  private:
    std::string open(AnswerPart::Kind kind, Json block);
    std::string close();

    AnswerHead head_;
    size_t block_ = 0; // its number
    bool is_open_ = false;
    AnswerPart::Kind kind_{}; // of the block that is open
};

} // namespace lamina::serve
