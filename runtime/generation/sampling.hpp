// Draws a random token.
#pragma once

#include <lamina/lamina.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lamina::generation {

// A number in [0, 1) that depends only on the arguments, so that a text is sampled in the same way in every batch and
// on every platform.
[[nodiscard]] double uniform(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step);

// Tokens by their log probabilities, the likeliest first, of which a sample is drawn.
struct Likeliest {
    std::span<const double> log_probabilities;
    size_t others = 0;   // how many tokens there are beside these, none of them likelier
    bool partly = false; // the probabilities of these and the others may add up to less than 1
};

// Numbers in [0, 1) that a sample depends on: which token is drawn, and what filters decide at random.
struct Chances {
    double token = 0, filter = 0;
};
[[nodiscard]] Chances chances_of(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step);

// What the samples of a text remember from token to token.
class SampleMemory {
  public:
    // By how many bits the next token may surprise: with mirostat, twice the aim at first.
    [[nodiscard]] double most_surprise(const GenerateOptions &options) const {
        return most_surprise_.value_or(2 * options.mirostat_tau);
    }
    // A token was drawn that had this share of the probability of what was left.
    void take(double share, const GenerateOptions &options);

  private:
    std::optional<double> most_surprise_; // nothing before the first token
};

// The place among these of the token at a chance of the distribution softmax(log_probabilities / temperature), of which
// leave_out() has left what the options keep. Nothing if that may depend on the others. `weights` is room to compute
// in.
[[nodiscard]] std::optional<size_t> draw(const Likeliest &tokens, const GenerateOptions &options, Chances chances,
                                         SampleMemory &memory, std::vector<double> &weights);

// Whether beams are sampled that compete. `options` are as resolved() gives them.
[[nodiscard]] bool samples_beams(const GenerateOptions &options);

// What is added to the log probabilities of choices, each with a chance of its own in [0, 1), so that the largest sums
// are draws without replacement (Gumbel top-k: Kool et al., arXiv:1903.06059).
[[nodiscard]] double perturbation(double chance);

// Divides positive and multiplies negative scores of these tokens, each once (Keskar et al., arXiv:1909.05858,
// section 4.1, as transformers applies it). Sorts the tokens, so that it finds those that occur again.
void penalize(std::span<float> scores, std::span<int32_t> tokens, double penalty);

// Scores of tokens that are never chosen.
void suppress(std::span<float> scores, std::span<const int32_t> tokens);

} // namespace lamina::generation
