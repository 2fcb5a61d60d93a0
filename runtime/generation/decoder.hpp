// The decoder of a batch: which tokens come next, and how likely each is.
#pragma once

#include "generation/scores.hpp"
#include "generation/sequences.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace lamina::generation {

// Earlier tokens are in the key-value caches, which are the states of the decode graph. The last tokens of all rows go
// through a program of one token a row, which is replayed for every step. What a prompt has before its last token only
// fills the caches; a prompt that joins others in the middle of their work does so in caches of its own, from which it
// is copied, so that the others need not be computed. Without caches a program takes whole sequences and computes all
// of them at every step: the numbers are the same within tolerance, so this can be used to check them.
//
// The session remembers what its caches hold. A text that begins like the one in its row before need not be computed
// up to where they differ.
class Decoder {
  public:
    struct Shape {
        size_t rows = 0;   // sequences
        size_t length = 0; // tokens that a sequence may have
        bool cached = true;
        size_t sure = 0;       // tokens that a sequence has for sure, if `length` is only what it may have; 0: length
        size_t candidates = 0; // that the device chooses for the next token of each row, if it pays; 0: none
        // What helps if there is not enough memory.
        const char *smaller = "a smaller --max-length, --cache f16 or q8_0, a smaller --batch";
        bool narrow = false; // steps that only give tokens to the first rows compute no others; without an encoder
    };
    // sources: for the encoder, none empty, each continued by as many rows; none for decoder-only models. Rows and
    // lengths are rounded up, so that few programs serve all sizes.
    Decoder(detail::SessionState &session, const std::vector<Source> &sources, const Shape &shape);
    ~Decoder();
    Decoder(const Decoder &) = delete;
    Decoder &operator=(const Decoder &) = delete;

    // These rows begin anew with these tokens, which are then given to step(), less those that the caches are found to
    // hold: returns how many. None unless `reuse` is set, and never the last token.
    size_t begin(size_t first_row, size_t rows, std::span<const int32_t> tokens, bool reuse);
    // How many of these tokens begin() would find in a row.
    [[nodiscard]] size_t common(size_t row, std::span<const int32_t> tokens) const;
    // How many a row has.
    [[nodiscard]] size_t taken(size_t row) const { return all_->taken(row).size(); }
    // These rows get the first tokens of another, which is common(from, ...) of what they go on with.
    void share(size_t first_row, size_t rows, size_t from, size_t tokens);
    // Two rows trade places.
    void trade(size_t row, size_t with);

    // Row r takes tokens[r] after the tokens that it has; a row that is given none rests, and its scores mean nothing.
    // Returns the scores of the next token of each row, valid until the next call. `all`: Scores::all() is going to be
    // called, so that all scores are brought with the candidates.
    std::span<const Scores> step(Tokens tokens, bool all = false);

    // Whether check() can be called for so many tokens.
    [[nodiscard]] bool may_check(size_t tokens) const;
    // The first row takes all of these tokens. Returns the scores of what follows each, valid until the next call.
    // keep() then says how many of its tokens it goes on with.
    std::span<const Scores> check(std::span<const int32_t> tokens);
    void keep(size_t row, size_t tokens) { all_->keep(row, tokens); }

    // A row takes these tokens, none of which is of an image. `take` gets the scores of what follows each, in order,
    // some at a time; they are valid until it returns. With caches and without an encoder.
    void score(size_t row, std::span<const int32_t> tokens, const std::function<void(std::span<const Scores>)> &take);

    // Row r continues from the tokens of row rows[r], which goes on from its own. This keeps, drops and splits beams.
    void reorder(std::span<const int32_t> rows);

    [[nodiscard]] const TensorMap &encoded() const { return given_; } // what encode() returned of the sources
    [[nodiscard]] size_t vocabulary() const { return vocabulary_; }   // how many tokens have scores
    // Whether the caches are still its own: false once the session has been used for anything else.
    [[nodiscard]] bool holds_caches() const { return session_.decoding == this; }

  private:
    void expect_room(size_t capacity, const std::optional<plan::Candidates> &candidates, const std::string &smaller);
    void fill(Tokens tokens);
    void fill_alone(size_t row, std::span<const int32_t> tokens);
    Sequences &alone(size_t needed);
    [[nodiscard]] std::optional<plan::Candidates> candidates(size_t count) const;
    std::span<const Scores> read_checked(Sequences &from, size_t tokens);
    void read_candidates(Tokens tokens);
    void read_all(Tokens tokens);
    void read_ends(Tokens tokens, int32_t output);
    std::span<float> read_row(size_t row);
    [[nodiscard]] std::span<float> scores_of(size_t row);
    void expect_numbers(size_t row);
    void expect_numbers(std::span<const float> scores, size_t position);

    detail::SessionState &session_;
    const model::Generation &model_;
    bool cached_;
    size_t rows_, batch_;                  // batch: a power of two, the most rows that programs have
    size_t positions_, longest_;           // tokens that a sequence has positions for, and those that one may have here
    TensorMap given_;                      // what encode() returned
    std::optional<Sequences> all_, alone_; // alone: a prompt that joins others
    std::vector<bool> begun_;              // by row; what caches hold of others is of an earlier text
    bool whole_ = true;                    // no step has failed
    size_t vocabulary_ = 0;
    std::vector<Scores> rows_scores_, checked_scores_;
    std::vector<float> scores_;  // (batch, V); with candidates, of the rows that were read
    std::vector<float> checked_; // (tokens, V)
    // With candidates (batch, count), and (batch).
    std::vector<float> best_, sums_;
    std::vector<int32_t> best_tokens_;
};

} // namespace lamina::generation
