// How likely the tokens of an answer were, as OpenAI's API tells it.
#pragma once

#include "base/json.hpp"

#include <lamina/lamina.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lamina::serve {

// "logprobs" of a chat: {"content": [{"token", "logprob", "bytes", "top_logprobs"}, ...], "refusal": null}.
[[nodiscard]] Json chat_scores(std::span<const ScoredToken> tokens);
// Of a completion: {"tokens", "token_logprobs", "top_logprobs", "text_offset"}. Offsets are in characters, and begin at
// `offset`, which is moved beyond these tokens. What is not known (NaN) is null.
[[nodiscard]] Json completion_scores(std::span<const ScoredToken> tokens, int64_t &offset);
// Where a prompt begins so that it ends where its text does: tokens may add what the text has not, such as <s>.
[[nodiscard]] int64_t offset_before(std::string_view prompt, std::span<const ScoredToken> tokens);

// Bytes of memory that a token takes, with so many others in its place, until its response has been sent.
[[nodiscard]] constexpr size_t memory_of_scores(size_t likeliest) { return 600 * (1 + likeliest); }

} // namespace lamina::serve
