// The text that tokens stand for, piece by piece.
#pragma once

#include "generation/search.hpp"

#include <lamina/lamina.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lamina::generation {

class Answer {
  public:
    // All three must outlive this. The model generates.
    Answer(const model::Model &model, const Source &source, const std::vector<std::string> &stops, bool special)
        : model_(*model.generation), times_(model.tokens.timestamps), source_(source), stops_(stops),
          special_(special) {}

    // What these tokens add to the text that was returned before: whole characters, and nothing that a stop text may
    // begin with. `last`: nothing follows.
    [[nodiscard]] std::string grow(std::span<const int32_t> tokens, bool last);

    // With what their tokens stand for.
    [[nodiscard]] std::vector<ScoredToken> with_texts(std::span<const ScoredToken> scores) const;
    // Those beyond what was returned before.
    [[nodiscard]] std::vector<ScoredToken> more(std::span<const ScoredToken> scores) {
        const size_t known = std::exchange(told_, std::max(told_, scores.size()));
        return with_texts(scores.subspan(std::min(known, scores.size())));
    }
    // Of the prompt, once.
    [[nodiscard]] std::vector<ScoredToken> prompt(std::span<const ScoredToken> scores) {
        return std::exchange(told_prompt_, true) ? std::vector<ScoredToken>() : with_texts(scores);
    }
    [[nodiscard]] Hypothesis hypothesis(const Candidate &candidate, size_t reused) const;

  private:
    [[nodiscard]] std::unique_ptr<model::TextStream> begin() const;
    [[nodiscard]] std::string text_of(model::TextStream &stream, int32_t token) const;

    const model::Generation &model_;
    const std::optional<model::TimestampTokens> &times_;
    const Source &source_;
    const std::vector<std::string> &stops_;
    bool special_; // with special tokens
    std::unique_ptr<model::TextStream> stream_;
    size_t taken_ = 0; // tokens
    size_t told_ = 0;  // of their scores
    bool told_prompt_ = false;
    std::string held_; // the end of their text, which has not been returned
};

} // namespace lamina::generation
