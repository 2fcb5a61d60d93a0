// How much of long prompts a step reads while other texts are written.
#pragma once

#include <cstddef>

namespace lamina::generation {

// A step gives each text that is written a token, and may read a part of a prompt beside it. A part that takes hardly
// as long as a step is read with each of them. Where even a short one takes longer, texts wait for longer parts
// instead, but rarely: prompts and texts then have about as much time each. Either way, 19 of 20 tokens come within
// twice the time that a step takes without prompts. How long that is, and how long a token of a prompt takes, is
// measured.
class Pace {
  public:
    static constexpr size_t longest = 256; // tokens of a part; more are not read faster
    static constexpr size_t shortest = 16; // fewer take as long, because the same weights are read

    // Tokens of prompts that the next step may read; 0: it is the others' turn. `others_write`: texts are written that
    // do not belong to the request of a prompt.
    [[nodiscard]] size_t part(bool others_write);
    // It took so long, and read so many tokens of prompts.
    void took(double seconds, size_t tokens, bool others_write);

  private:
    double step_ = 0, token_ = 0; // seconds of a step without prompts, and of a prompt's token; 0: unknown
    size_t pause_ = 0;            // steps that the others have left
};

} // namespace lamina::generation
