#include "openai_events.hpp"

#include "answer_form.hpp"
#include "openai_scores.hpp"
#include "refusal.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lamina::serve {

std::string OpenAiEvents::begin(size_t) { return head_.chat ? role_event(head_, choice_) : ""; }

void OpenAiEvents::take_prompt(std::string_view text, std::vector<ScoredToken> scores) {
    offset_ = offset_before(text, scores);
    take(std::move(scores));
}

void OpenAiEvents::take(std::vector<ScoredToken> scores) { std::ranges::move(scores, std::back_inserter(scores_)); }

Json OpenAiEvents::take_scores() {
    if (scores_.empty()) return nullptr;
    const std::vector<ScoredToken> all = std::exchange(scores_, {});
    return head_.chat ? chat_scores(all) : completion_scores(all, offset_);
}

std::string OpenAiEvents::of(const AnswerPart &part) {
    switch (part.kind) {
    case AnswerPart::Kind::thought:
        return thought_event(head_, choice_, part.text);
    case AnswerPart::Kind::text:
        return piece_event(head_, choice_, part.text, take_scores());
    case AnswerPart::Kind::call:
        return call_event(head_, choice_, calls_++, {id_of_call(), part.text, ""});
    case AnswerPart::Kind::arguments:
        break;
    }
    return arguments_event(head_, choice_, calls_ - 1, part.text);
}

std::string OpenAiEvents::finish(const AnswerEnd &end, const Usage &) {
    return finish_event(head_, choice_, end.finish, end.called, take_scores());
}

AnswerForm openai_form(bool chat) {
    return {
        .id = chat ? "chatcmpl-" : "cmpl-",
        .chat = chat,
        .last_event = last_event,
        .events = [](const AnswerHead &head, size_t choice) { return std::make_unique<OpenAiEvents>(head, choice); },
        .whole = answer_json,
        .error_event = [](int status,
                          const std::string &why) { return error_event(openai_error(status, why, "", "")); }};
}

} // namespace lamina::serve
