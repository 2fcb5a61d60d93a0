// What /v1/completions and /v1/chat/completions tell while an answer is written.
#pragma once

#include "answer_events.hpp"
#include "openai_result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

class OpenAiEvents : public AnswerEvents {
  public:
    OpenAiEvents(const AnswerHead &head, size_t choice) : head_(head), choice_(choice) {}

    [[nodiscard]] std::string begin(size_t prompt_tokens) override;
    void take_prompt(std::string_view text, std::vector<ScoredToken> scores) override;
    void take(std::vector<ScoredToken> scores) override;
    [[nodiscard]] std::string of(const AnswerPart &part) override;
    [[nodiscard]] std::string finish(const AnswerEnd &end, const Usage &usage) override;

  private:
    [[nodiscard]] Json take_scores(); // those that no event has told yet

    AnswerHead head_;
    size_t choice_, calls_ = 0;
    int64_t offset_ = 0;
    std::vector<ScoredToken> scores_;
};

} // namespace lamina::serve
