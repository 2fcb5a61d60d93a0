// What a text may go on with, guessed from what it says already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lamina::generation {

// So many tokens, as they followed the last ones of a text where these occurred before: the last three, or else the
// last two, and of several places the latest. What has been repeated up to the end goes on so. None if there is no such
// place. (Saxena: Prompt Lookup Decoding, 2023.)
[[nodiscard]] std::vector<int32_t> guessed(std::span<const int32_t> text, size_t count);

// Whether guesses pay: a step that checks some takes longer than one that computes a token, and may bring no more.
// Where they do not, they are tried again after a while.
class Guesses {
  public:
    [[nodiscard]] bool pay();
    // A step without guesses took so long.
    void step(double seconds);
    // One that checked guesses took so long, and brought so many tokens.
    void check(double seconds, size_t tokens);

  private:
    double step_ = 0, check_ = 0, tokens_ = 0; // on average; 0: unknown
    bool tried_ = false;                       // the first check takes longer: its program is made
    size_t pause_ = 0;                         // steps without guesses
};

} // namespace lamina::generation
