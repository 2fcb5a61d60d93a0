// What OpenAI's Responses API answers, as text.
#pragma once

#include "answer_parts.hpp"
#include "openai_result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace lamina::serve {

// What a model puts out, item by item: thoughts, a text, calls of tools. Takes the parts of an answer, and gives
// server-sent events, "event: TYPE\ndata: JSON\n\n"; at the end it has the whole response.
class ResponseEvents : public AnswerEvents {
  public:
    // `repeated`: what the response says of its request.
    ResponseEvents(const AnswerHead &head, Json repeated);

    [[nodiscard]] std::string begin(size_t prompt_tokens) override;
    [[nodiscard]] std::string of(const AnswerPart &part) override;
    [[nodiscard]] std::string finish(const AnswerEnd &end, const Usage &usage) override;
    // After finish().
    [[nodiscard]] std::string response() const { return response_.in_one_line(); }

  private:
    std::string event(const std::string &type, const Json &data);
    std::string open(const AnswerPart &part);
    std::string close(bool whole);
    [[nodiscard]] Json item(const char *status) const;
    [[nodiscard]] Json content() const;
    [[nodiscard]] Json place() const;
    [[nodiscard]] Json response_with(const char *status) const;

    AnswerHead head_;
    Json repeated_, response_;
    Json output_ = Json::array();
    size_t items_ = 0, events_ = 0;
    // Of the item that is open.
    bool is_open_ = false;
    AnswerPart::Kind kind_{};
    std::string id_, name_, call_, text_; // call: its id; text: its arguments, too
};

} // namespace lamina::serve
