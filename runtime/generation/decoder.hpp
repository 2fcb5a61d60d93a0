// A batch of sequences that is decoded token by token.
#pragma once

#include "generation/texts.hpp"
#include "session/state.hpp"

#include <span>
#include <vector>

namespace lamina::generation {

// The decode program takes one token per sequence and is replayed for every step. Earlier tokens are in the key-value
// cache, which is the program's state. Without a cache the program takes whole sequences and computes all of them at
// every step. The numbers are the same within tolerance, so this can be used to check them.
class Decoder {
  public:
    struct Shape {
        size_t rows = 0;   // sequences
        size_t length = 0; // tokens that a sequence may have, its prefix included
        bool cached = true;
    };
    // sources: token ids for the encoder, one sequence per row, none empty; no rows for decoder-only models. Rows and
    // lengths are rounded up, so that few programs serve all sizes.
    Decoder(detail::SessionState &session, const std::vector<Ids> &sources, const Shape &shape);

    // Takes token `tokens[r]` of every row at `position`, which must grow by one from call to call. Returns the logits
    // of the next token (rows, vocabulary), valid until the next call; for a model that gives probabilities, their
    // logarithms. Throws Error(failure) if one is NaN or infinite.
    std::span<const float> step(std::span<const int32_t> tokens, size_t position);

    // Row r continues from the tokens of row rows[r]. This keeps, drops and splits beams.
    void reorder(std::span<const int32_t> rows);

    [[nodiscard]] size_t vocabulary() const { return vocabulary_; }

  private:
    void check_scores(std::span<const float> scores, size_t position) const;
    TensorMap encode(detail::SessionState &session, const std::vector<Ids> &sources) const;

    plan::Program *program_ = nullptr;
    int32_t ids_input_ = 0, scores_output_ = 0, position_input_ = 0;
    size_t rows_ = 0, batch_ = 0, steps_ = 0, vocabulary_ = 0; // batch, steps: rows and tokens as the program has them
    bool cached_ = true, probabilities_ = false;
    std::string device_, graph_;
    std::vector<int32_t> ids_, positions_; // (batch, steps), (batch)
    std::vector<float> all_, scores_;      // (batch, steps, V), (rows, V)
};

} // namespace lamina::generation
