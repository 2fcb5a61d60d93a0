// What OpenAI's API answers, as text.
#pragma once

#include "answer_events.hpp"

#include "base/json.hpp"

#include <lamina/audio.hpp>
#include <lamina/lamina.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// A text that continues a prompt, or answers a conversation. All results of a request have the same head.
struct AnswerHead {
    bool chat = false;
    std::string id, model;
    int64_t created = 0; // seconds since 1970
};
struct CalledTool {
    std::string id, name, arguments; // arguments: JSON
};
struct Choice {
    std::string text;
    Finish finish = Finish::length;
    std::string thought{};
    std::vector<CalledTool> calls{};
    Json scores{}; // null: nobody wants them
};
[[nodiscard]] std::string answer_json(const AnswerHead &head, const std::vector<Choice> &choices, const Usage &usage);

// Server-sent events: "data: JSON\n\n". `scores`: of openai_scores.hpp. A chat begins with an event that says who
// speaks.
[[nodiscard]] std::string role_event(const AnswerHead &head, size_t choice);
[[nodiscard]] std::string piece_event(const AnswerHead &head, size_t choice, std::string_view piece, Json scores = {});
[[nodiscard]] std::string thought_event(const AnswerHead &head, size_t choice, std::string_view piece);
// A call begins with its name; its arguments follow in pieces.
[[nodiscard]] std::string call_event(const AnswerHead &head, size_t choice, size_t number, const CalledTool &call);
[[nodiscard]] std::string arguments_event(const AnswerHead &head, size_t choice, size_t number, std::string_view piece);
[[nodiscard]] std::string finish_event(const AnswerHead &head, size_t choice, Finish finish, bool called = false,
                                       Json scores = {});
[[nodiscard]] std::string usage_event(const AnswerHead &head, const Usage &usage);
[[nodiscard]] std::string error_event(const std::string &error); // the JSON of an error
inline constexpr std::string_view last_event = "data: [DONE]\n\n";

// `vectors`: (N, C).
[[nodiscard]] std::string embeddings_json(const std::string &model, const Tensor &vectors, bool base64, size_t tokens);

// ---- Transcripts ----
[[nodiscard]] std::string transcript_json(const Transcript &transcript);
// What verbose_transcript_json() tells the times of: segments, or where the transcript has none the windows of the
// audio, and the words that are the transcript's segments.
struct Granularities {
    bool segments = false, words = false;
};
[[nodiscard]] std::string verbose_transcript_json(const Transcript &transcript, const std::string &task,
                                                  Granularities times);

} // namespace lamina::serve
