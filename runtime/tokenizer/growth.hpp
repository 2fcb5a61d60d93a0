// How much longer the steps of a tokenizer may make a text. A tokenizer is data, and a few steps that each double a
// text would make gigabytes of a word.
#pragma once

#include <lamina/error.hpp>

#include <cstddef>
#include <string>

namespace lamina::tokenizer {

class Growth {
  public:
    explicit Growth(size_t text) : left_(least + times * text) {} // bytes

    // Before a text, or a part of it, becomes this much longer. Throws Error(input).
    void spend(size_t bytes) {
        if (bytes > left_)
            throw Error(ErrorCode::input, "the tokenizer makes this text more than " + std::to_string(times) +
                                              " times as long; expected a normalizer that changes little");
        left_ -= bytes;
    }
    void spend(size_t before, size_t after) { spend(after > before ? after - before : 0); }

  private:
    static constexpr size_t least = 1u << 20, times = 64; // no published tokenizer makes a text 20 times as long

    size_t left_;
};

} // namespace lamina::tokenizer
