#include "openai_result.hpp"

#include <algorithm>
#include <span>

namespace lamina::serve {
namespace {

Json usage_as_json(const Usage &usage, bool chat) {
    Json out{{"prompt_tokens", usage.prompt},
             {"completion_tokens", usage.answer},
             {"total_tokens", usage.prompt + usage.answer},
             {"prompt_tokens_details", Json{{"cached_tokens", usage.reused}}}};
    if (chat) out["completion_tokens_details"] = Json{{"reasoning_tokens", usage.thought}};
    return out;
}

const char *reason_of(Finish finish, bool called) {
    return finish == Finish::length ? "length" : called ? "tool_calls" : "stop";
}

Json as_json(const CalledTool &call) {
    return {
        {"id", call.id}, {"type", "function"}, {"function", Json{{"name", call.name}, {"arguments", call.arguments}}}};
}

Json message_of(const Choice &choice) {
    Json out{{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
    if (!choice.thought.empty()) out["reasoning_content"] = choice.thought;
    if (choice.calls.empty()) return out;
    if (choice.text.empty()) out["content"] = nullptr;
    Json calls = Json::array();
    for (const CalledTool &call : choice.calls) calls.push_back(as_json(call));
    out["tool_calls"] = std::move(calls);
    return out;
}

Json with_head(const AnswerHead &head, const char *object, Json choices) {
    return {{"id", head.id},
            {"object", object},
            {"created", head.created},
            {"model", head.model},
            {"choices", std::move(choices)}};
}

std::string event_of(const AnswerHead &head, Json choices) {
    const char *object = head.chat ? "chat.completion.chunk" : "text_completion";
    return "data: " + with_head(head, object, std::move(choices)).in_one_line() + "\n\n";
}

// A choice of an event: what it adds, and why it ended, if it did.
std::string event_of(const AnswerHead &head, size_t choice, Json added, Json reason, Json scores = {}) {
    Json out{{"index", choice}};
    out[head.chat ? "delta" : "text"] = std::move(added);
    out["logprobs"] = std::move(scores);
    out["finish_reason"] = std::move(reason);
    return event_of(head, Json::array({std::move(out)}));
}

std::string base64_of(std::span<const float> values) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto bytes = std::as_bytes(values); // little-endian, as on every platform that Lamina supports
    std::string out;
    for (size_t at = 0; at < bytes.size(); at += 3) {
        uint32_t three = 0;
        const size_t count = std::min<size_t>(3, bytes.size() - at);
        for (size_t i = 0; i < 3; ++i) three = three << 8u | (i < count ? std::to_integer<uint32_t>(bytes[at + i]) : 0);
        for (size_t i = 0; i < 4; ++i) out += i <= count ? letters[three >> (18u - 6u * i) & 63u] : '=';
    }
    return out;
}

Json segment_as_json(size_t id, double begin, double end, const std::string &text, const std::vector<int32_t> &tokens,
                     const Hypothesis &hypothesis) {
    const auto count = static_cast<double>(std::max<size_t>(hypothesis.tokens.size(), 1));
    return {{"id", id},     {"start", begin},   {"end", end},
            {"text", text}, {"tokens", tokens}, {"avg_logprob", hypothesis.log_probability / count}};
}

Json segments_of(const Transcript &transcript, bool with_words) {
    const std::vector<Transcript::Segment> &segments = with_words ? transcript.phrases : transcript.segments;
    Json out = Json::array();
    size_t id = 0;
    if (segments.empty())
        for (const Transcript::Part &part : transcript.parts)
            out.push_back(segment_as_json(id++, part.begin, part.end, part.hypothesis.text, part.hypothesis.tokens,
                                          part.hypothesis));
    else
        for (const Transcript::Segment &each : segments)
            out.push_back(segment_as_json(id++, each.begin, each.end, each.text, each.tokens,
                                          transcript.parts[each.part].hypothesis));
    return out;
}

Json words_of(const Transcript &transcript) {
    Json out = Json::array();
    for (const Transcript::Segment &each : transcript.segments)
        out.push_back({{"word", each.text.substr(std::min(each.text.find_first_not_of(' '), each.text.size()))},
                       {"start", each.begin},
                       {"end", each.end}});
    return out;
}

} // namespace

std::string answer_json(const AnswerHead &head, const std::vector<Choice> &choices, const Usage &usage) {
    Json list = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
        Json choice{{"index", i}};
        if (head.chat)
            choice["message"] = message_of(choices[i]);
        else
            choice["text"] = choices[i].text;
        choice["logprobs"] = choices[i].scores;
        choice["finish_reason"] = reason_of(choices[i].finish, !choices[i].calls.empty());
        list.push_back(std::move(choice));
    }
    Json out = with_head(head, head.chat ? "chat.completion" : "text_completion", std::move(list));
    out["usage"] = usage_as_json(usage, head.chat);
    return out.in_one_line();
}

std::string role_event(const AnswerHead &head, size_t choice) {
    return event_of(head, choice, {{"role", "assistant"}, {"content", ""}}, nullptr);
}

std::string piece_event(const AnswerHead &head, size_t choice, std::string_view piece, Json scores) {
    Json text = std::string(piece);
    return event_of(head, choice, head.chat ? Json{{"content", std::move(text)}} : std::move(text), nullptr,
                    std::move(scores));
}

std::string thought_event(const AnswerHead &head, size_t choice, std::string_view piece) {
    return event_of(head, choice, {{"reasoning_content", std::string(piece)}}, nullptr);
}

std::string call_event(const AnswerHead &head, size_t choice, size_t number, const CalledTool &call) {
    Json begun = as_json(call);
    begun["index"] = number;
    return event_of(head, choice, {{"tool_calls", Json::array({std::move(begun)})}}, nullptr);
}

std::string arguments_event(const AnswerHead &head, size_t choice, size_t number, std::string_view piece) {
    Json more{{"index", number}, {"function", Json{{"arguments", std::string(piece)}}}};
    return event_of(head, choice, {{"tool_calls", Json::array({std::move(more)})}}, nullptr);
}

std::string finish_event(const AnswerHead &head, size_t choice, Finish finish, bool called, Json scores) {
    return event_of(head, choice, head.chat ? Json::object() : Json(""), reason_of(finish, called), std::move(scores));
}

std::string usage_event(const AnswerHead &head, const Usage &usage) {
    Json out = with_head(head, head.chat ? "chat.completion.chunk" : "text_completion", Json::array());
    out["usage"] = usage_as_json(usage, head.chat);
    return "data: " + out.in_one_line() + "\n\n";
}

std::string error_event(const std::string &error) { return "data: " + error + "\n\n"; }

std::string embeddings_json(const std::string &model, const Tensor &vectors, bool base64, size_t tokens) {
    Json data = Json::array();
    const auto width = static_cast<size_t>(vectors.shape().at(1));
    for (size_t i = 0; i < static_cast<size_t>(vectors.shape().front()); ++i) {
        const auto row = vectors.f32().subspan(i * width, width);
        data.push_back(
            {{"object", "embedding"},
             {"index", i},
             {"embedding", base64 ? Json(base64_of(row)) : Json(std::vector<float>(row.begin(), row.end()))}});
    }
    return Json{{"object", "list"},
                {"data", std::move(data)},
                {"model", model},
                {"usage", Json{{"prompt_tokens", tokens}, {"total_tokens", tokens}}}}
        .in_one_line();
}

std::string transcript_json(const Transcript &transcript) { return Json{{"text", transcript.text}}.in_one_line(); }

std::string verbose_transcript_json(const Transcript &transcript, const std::string &task, Granularities times) {
    Json out{{"task", task},
             {"language", transcript.language.empty() ? Json(nullptr) : Json(transcript.language)},
             {"duration", transcript.parts.empty() ? 0.0 : transcript.parts.back().end},
             {"text", transcript.text}};
    if (times.segments) out["segments"] = segments_of(transcript, times.words);
    if (times.words) out["words"] = words_of(transcript);
    return out.in_one_line();
}

} // namespace lamina::serve
