// An answer as its API tells it: whole, or in parts while it is written.
#pragma once

#include "answer_events.hpp"
#include "answer_parts.hpp"
#include "openai_result.hpp"
#include "work.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// A prompt that is told before the answer to it.
struct Echo {
    std::string text;
    size_t tokens = 0;
    TokenScore first{};  // of them; how likely it was is not known (NaN), as none is before it
    bool scored = false; // how likely the others were is wanted
    bool alone = false;  // nothing of the answer is told

    // Of all tokens of the prompt; `known` are the last ones, as Hypothesis::prompt_scores has them.
    [[nodiscard]] std::vector<ScoredToken> scores(std::vector<ScoredToken> known) const;
};

// `parts` takes the text of a chat apart; nothing: all is text, behind `echo` if there is one.
[[nodiscard]] Choice choice_of(std::optional<AnswerParts> parts, const Answer &answer, const Echo *echo);

// How many tokens of an answer are of a part of its text.
[[nodiscard]] size_t tokens_of(std::string_view part, const Hypothesis &answer, const std::vector<TokenText> &texts);

class Telling {
  public:
    Telling(std::unique_ptr<AnswerEvents> events, std::optional<AnswerParts> parts, const Echo *echo)
        : events_(std::move(events)), parts_(std::move(parts)), echo_(echo), alone_(echo != nullptr && echo->alone) {}

    [[nodiscard]] std::string begin(size_t prompt_tokens) { return events_->begin(prompt_tokens); }
    // `last`: nothing follows.
    [[nodiscard]] std::string of(Work::News news, bool last);
    [[nodiscard]] std::string finish(const Answer &answer, const Usage &usage) {
        const Finish how = alone_ ? Finish::length : answer.hypothesis.finish; // nobody is told of its token
        return events_->finish({how, called_, answer.options.stop}, usage);
    }

  private:
    std::string tell(const AnswerPart &part);

    std::unique_ptr<AnswerEvents> events_;
    std::optional<AnswerParts> parts_;
    const Echo *echo_; // null: it has been told
    bool alone_;
    bool called_ = false;
};

} // namespace lamina::serve
