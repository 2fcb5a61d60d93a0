// Text in, text out: batches of unequal lengths, encoded once, decoded a token at a time with a KV cache.
#pragma once

#include "session/state.hpp"

#include <span>
#include <string>
#include <vector>

namespace lamina::session {

// As Session::generate.
[[nodiscard]] std::vector<std::string> generate(detail::SessionState &session, const std::vector<std::string> &texts,
                                                const GenerateOptions &options);

using Ids = std::vector<int32_t>;

// The source ids of every text, all checked. Throws Error(input) that says which text.
[[nodiscard]] std::vector<Ids> tokenize(const model::Model &model, const std::vector<std::string> &texts);

// The most likely token after every prefix, until the end token or the model's greatest length; without the end.
[[nodiscard]] std::vector<Ids> greedy(detail::SessionState &session, const std::vector<Ids> &sources);

// A batch in the middle of being decoded. The decode program takes one token a sequence and is replayed for every step;
// what it has seen lives in the KV cache, which belongs to the program.
class Decoder {
  public:
    // Encodes the sources (token ids, none empty). Batch and length are rounded up, so that few programs serve all
    // sizes.
    Decoder(detail::SessionState &session, const std::vector<Ids> &sources);

    // Decodes one more token of every sequence: tokens (B) stand at `position`. Returns the logits (B, V) of what
    // follows; valid until the next call.
    std::span<const float> step(std::span<const int32_t> tokens, int64_t position);

    [[nodiscard]] size_t vocabulary() const { return vocabulary_; }

  private:
    plan::Program *decode_ = nullptr;
    int32_t ids_input_ = 0, position_input_ = 0, logits_output_ = 0;
    size_t batch_ = 0, vocabulary_ = 0; // batch: as the program has it
    std::vector<int32_t> ids_, positions_;
    std::vector<float> logits_;
};

} // namespace lamina::session
