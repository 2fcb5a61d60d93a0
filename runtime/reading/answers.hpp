// Answers to questions: the parts of texts that a model finds likeliest.
#pragma once

#include "reading/reading.hpp"

namespace lamina::reading {

// The answers to each question, best first. Each `first` is a question, each `second` the text with its answer.
[[nodiscard]] std::vector<std::vector<Answer>> answer(detail::SessionState &session, const std::vector<TextPair> &pairs,
                                                      const AnswerOptions &options);

} // namespace lamina::reading
