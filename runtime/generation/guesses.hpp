// What a text may go on with, guessed: by what it says already, or by a smaller model (draft.hpp). Whether a guess is
// right, the model itself finds out; so a text is the same with any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lamina::generation {

// Where guesses come from.
class GuessSource {
  public:
    GuessSource() = default;
    GuessSource(const GuessSource &) = delete;
    GuessSource &operator=(const GuessSource &) = delete;
    virtual ~GuessSource() = default;
    // At most so many tokens that may follow the text; none if it has no idea.
    [[nodiscard]] virtual std::vector<int32_t> guess(std::span<const int32_t> text, size_t most) = 0;
};

// As many tokens as are asked for, as they followed the last ones of a text where these occurred before: the last
// three, or else the last two, and of several places the latest. What has been repeated up to the end goes on so. None
// if there is no such place. (Saxena: Prompt Lookup Decoding, 2023.)
class RepeatedTokens final : public GuessSource {
  public:
    [[nodiscard]] std::vector<int32_t> guess(std::span<const int32_t> text, size_t most) override;
};

// Whether guesses pay: a step that checks some takes longer than one that computes a token, and may bring no more.
// Where they do not, they are tried again after a while. How many tokens are guessed depends on how many were right.
class Guesses {
  public:
    [[nodiscard]] bool pay();
    // How many tokens to guess, of at most so many: with the token before them, a power of two is checked, because
    // programs take so many.
    [[nodiscard]] size_t count(size_t most) const;
    // A step without guesses took so long.
    void step(double seconds);
    // One that made and checked so many guesses took so long, and brought so many tokens: one more than were right, at
    // most.
    void check(double seconds, size_t guessed, size_t tokens);

  private:
    double step_ = 0, check_ = 0, tokens_ = 0; // on average; 0: unknown
    size_t tried_ = 0; // powers of two: the first check of each makes a program, and takes longer
    size_t pause_ = 0; // steps without guesses
    size_t count_ = 3;
};

} // namespace lamina::generation
