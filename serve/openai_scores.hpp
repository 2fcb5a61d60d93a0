// How likely the tokens of an answer were, as OpenAI's API tells it.
#pragma once

#include "base/json.hpp"

#include <lamina/lamina.hpp>

#include <cstddef>
#include <span>

namespace lamina::serve {

// "logprobs" of a chat: {"content": [{"token", "logprob", "bytes", "top_logprobs"}, ...], "refusal": null}.
[[nodiscard]] Json chat_scores(std::span<const ScoredToken> tokens);
// Of a completion: {"tokens", "token_logprobs", "top_logprobs", "text_offset"}. Offsets are in characters, and begin at
// `offset`, which is moved beyond these tokens.
[[nodiscard]] Json completion_scores(std::span<const ScoredToken> tokens, size_t &offset);

// Bytes of memory that a token takes, with so many others in its place, until its response has been sent.
[[nodiscard]] constexpr size_t memory_of_scores(size_t likeliest) { return 600 * (1 + likeliest); }

} // namespace lamina::serve
