// A batch of sequences that are decoded side by side, each at its own position.
#pragma once

#include "generation/sources.hpp"
#include "session/state.hpp"

#include <span>
#include <vector>

namespace lamina::generation {

inline constexpr size_t longest_block = 256; // tokens of a prompt that go through a program at once

// Earlier tokens are in the key-value caches, which are the states of the decode graph. The last tokens of all rows go
// through a program of one token a row, which is replayed for every step. What a prompt has before its last token only
// fills the caches: it goes through them in blocks, by programs without the layers that only scores need. The caches
// grow when they are full. Without caches a program takes whole sequences and computes all of them at every step: the
// numbers are the same within tolerance, so this can be used to check them.
//
// The session remembers what its caches hold. A text that begins like the one in its row before need not be computed
// up to where they differ.
class Decoder {
  public:
    struct Shape {
        size_t rows = 0;   // sequences
        size_t length = 0; // tokens that a sequence may have
        bool cached = true;
        bool reuse = false; // begin with what the caches hold; only without an encoder
        size_t sure = 0;    // tokens that a sequence has for sure, if `length` is only what it may have; 0: length
    };
    // sources: for the encoder, one per row, none empty; no rows for decoder-only models. Rows and lengths are rounded
    // up, so that few programs serve all sizes.
    Decoder(detail::SessionState &session, const std::vector<Source> &sources, const Shape &shape);
    ~Decoder();
    Decoder(const Decoder &) = delete;
    Decoder &operator=(const Decoder &) = delete;

    // Row r takes tokens[r] after the tokens that it has; a row that is given none rests, and its scores mean nothing.
    // Returns the logits of the next token (rows, vocabulary), valid until the next call; for a model that gives
    // probabilities, their logarithms. Throws Error(failure) if one is NaN or infinite.
    std::span<float> step(std::span<const Ids> tokens);

    // Row r continues from the tokens of row rows[r]. This keeps, drops and splits beams.
    void reorder(std::span<const int32_t> rows);

    [[nodiscard]] size_t vocabulary() const { return vocabulary_; }
    // Tokens of a row that were in the caches before it began.
    [[nodiscard]] size_t reused(size_t row) const { return reused_[row]; }

  private:
    using Tokens = std::vector<std::span<const int32_t>>; // of each row
    void encode(const std::vector<Source> &sources);
    void expect_room(size_t capacity);
    [[nodiscard]] plan::GraphShapes shapes(size_t length, size_t capacity) const;
    enum class Gives { scores, nothing };
    void use_program(size_t length, Gives gives, size_t needed);
    [[nodiscard]] Tokens take_reused(std::span<const Ids> tokens);
    void fill(const Tokens &tokens);
    void run_block(const Tokens &tokens, size_t first, size_t length);
    void run_last(const Tokens &tokens);
    void run_whole(std::span<const Ids> tokens);
    [[nodiscard]] size_t longest_of(const Tokens &tokens) const;
    [[nodiscard]] std::vector<int32_t> positions(size_t length);
    void run(std::span<const int32_t> ids, std::span<const int32_t> positions);
    void read_scores(std::span<float> scores);
    void finish_scores(size_t row);

    detail::SessionState &session_;
    const model::Generation &model_;
    bool cached_;
    size_t rows_, batch_;        // batch: rows as programs have them
    size_t positions_, longest_; // tokens that a sequence has positions for, and those that one may have here
    size_t capacity_ = 0;        // of the caches, in tokens
    size_t vocabulary_ = 0;
    TensorMap given_;                        // what the encoder gave, and the lengths of the sources
    std::shared_ptr<plan::Program> program_; // in use: of this many tokens a row
    size_t length_ = 0;
    Gives gives_ = Gives::scores;
    std::vector<Ids> taken_;     // by each row of the batch
    bool whole_ = true;          // no step has failed
    std::vector<Ids> before_;    // what the caches held when this began
    std::vector<size_t> reused_; // of these
    std::vector<float> scores_;  // (batch, V)
};

} // namespace lamina::generation
