// How an API tells an answer while it is written: server-sent events, as text.
#pragma once

#include "answer_parts.hpp"
#include "usage.hpp"

#include <lamina/lamina.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// Why an answer ended. `stops`: the texts of the request before which it may end.
struct AnswerEnd {
    Finish finish = Finish::length;
    bool called = false; // a tool
    std::vector<std::string> stops{};
};

// Of one answer. A new API is a class of these.
class AnswerEvents {
  public:
    AnswerEvents() = default;
    AnswerEvents(const AnswerEvents &) = delete;
    AnswerEvents &operator=(const AnswerEvents &) = delete;
    virtual ~AnswerEvents() = default;

    [[nodiscard]] virtual std::string begin(size_t /*prompt_tokens*/) { return ""; }
    // The same of a prompt that is told with the next part.
    virtual void take_prompt(std::string_view /*text*/, std::vector<ScoredToken> /*scores*/) {}
    // How likely the tokens of the next parts were, where the request wants it.
    virtual void take(std::vector<ScoredToken> /*scores*/) {}
    [[nodiscard]] virtual std::string of(const AnswerPart &part) = 0;
    [[nodiscard]] virtual std::string finish(const AnswerEnd &end, const Usage &usage) = 0;
};

[[nodiscard]] std::string random_id();  // 16 hexadecimal digits
[[nodiscard]] std::string id_of_call(); // nine: Mistral's templates take no other ids when they are sent back

} // namespace lamina::serve
