// The answers of one request, while they are written and when they are told.
#pragma once

#include "answer_form.hpp"
#include "engine.hpp"
#include "telling.hpp"
#include "tool_format.hpp"
#include "usage.hpp"
#include "work.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina::serve {

// Those that nobody waits for any more are not written to their end.
struct Writing {
    Writing() = default;
    Writing(const Writing &) = delete;
    Writing &operator=(const Writing &) = delete;
    ~Writing() {
        for (const auto &each : answers) each->leave();
    }

    AnswerHead head;
    size_t prompt_tokens = 0, choices = 1; // choices: answers to each prompt, which counts once
    size_t told = 1;                       // of them, the best if not all
    bool usage = false;                    // as the last event
    std::vector<Echo> echoes;              // of all prompts, or none
    std::map<std::string, std::string> headers;
    std::shared_ptr<void> memory; // also of its answers
    std::vector<std::shared_ptr<Answer>> answers;
    const Engine *engine = nullptr;  // that writes them
    std::optional<ToolFormat> tools; // if answers may call some
    bool thinks = false;             // answers begin within a thought
    std::shared_ptr<const void> images;
    AnswerForm form;

    // What takes an answer of a chat apart.
    [[nodiscard]] std::optional<AnswerParts> parts() const {
        return form.chat ? std::optional<AnswerParts>({tools, thinks}) : std::nullopt;
    }
    // Of the prompt of a choice; null if it is not told.
    [[nodiscard]] const Echo *echo(size_t choice) const { return echoes.empty() ? nullptr : &echoes[choice / told]; }
    // The answers that are told, when all have ended: to each prompt, those of the likeliest tokens.
    [[nodiscard]] std::vector<const Answer *> best() const;
    // Since the request, until any of the answers began.
    [[nodiscard]] std::optional<std::chrono::duration<double>> first_token() const;
    // Of the answers that have ended.
    [[nodiscard]] Usage used() const;

  private:
    // The tokens of what an answer that has ended thought.
    [[nodiscard]] size_t thought(size_t answer) const;

    mutable std::vector<std::optional<size_t>> thoughts_; // of the answers, as far as they have been counted
};

} // namespace lamina::serve
