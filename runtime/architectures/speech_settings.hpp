// How a model's files say that audio becomes its input, and its scores become text: preprocessor_config.json,
// vocab.json and the tokenizer's other files.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <optional>

namespace lamina::architectures {

struct Draft;

// What an architecture says of the audio that its graph "encode" takes, as "samples" (B, N, 1).
struct SpeechInput {
    static constexpr int64_t longest_frame = 1 << 20; // in samples

    // An input of lengths: there is a frame for every `step` samples, as long as `width` samples are left.
    struct Frames {
        int64_t width = 1, step = 1;
    };
    Frames lengths;                     // "lengths": frames of "logits"
    std::optional<Frames> norm_lengths; // "norm_lengths": of a norm over time; none: there is no such input
    int64_t characters = 0;             // how many are scored
};

// "speech" of model.json; null if the model has no scores of characters, or if files are missing that say how audio and
// texts are made. Throws Error(input).
[[nodiscard]] Json speech_block(const Draft &draft);

} // namespace lamina::architectures
