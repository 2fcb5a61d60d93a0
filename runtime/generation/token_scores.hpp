// What a model says of the tokens that are chosen: log probabilities before anything changes its scores.
#pragma once

#include "generation/scores.hpp"

#include <lamina/lamina.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lamina::generation {

// What is subtracted from scores to make them log probabilities: log softmax, in double. Log probabilities stay the
// same, and so do scores that are all -infinity.
[[nodiscard]] double shift_of(std::span<const float> scores);

// Of one row, for the token that comes next.
class TokenScores {
  public:
    // How many of the likeliest tokens are told of.
    explicit TokenScores(size_t likeliest) : likeliest_(likeliest) {}

    // Whether the candidates are enough. Then they are what is told of.
    bool take(const Scores &scores);
    // All scores, of which `suppressed` are never chosen.
    void take_all(std::span<const float> scores, std::span<const int32_t> suppressed);

    // Without texts. The token is one of those that were taken.
    [[nodiscard]] ScoredToken of(int32_t token) const;

  private:
    [[nodiscard]] double log_probability(int32_t token) const;

    size_t likeliest_;
    std::vector<int32_t> tokens_; // the candidates, best first; or the likeliest
    std::vector<float> scores_;   // of the candidates; or all, by token
    bool all_ = false;
    double shift_ = 0;
};

} // namespace lamina::generation
