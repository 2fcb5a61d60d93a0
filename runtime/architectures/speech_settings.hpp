// How a model's files say that audio of any length becomes its input, and scores of characters become text:
// preprocessor_config.json, vocab.json and the tokenizer's other files.
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
    Frames lengths = {};                     // "lengths": frames of "logits"
    std::optional<Frames> norm_lengths = {}; // "norm_lengths": of a norm over time; none: there is no such input
    int64_t characters = 0;                  // how many are scored; 0: a decoder writes the text
    // The longest window. One of wav2vec 2.0 that is longer would take more memory than a buffer may have on every
    // device: the first convolution of published models has 512 channels and a step of 5 samples.
    int64_t window_seconds = 20;
};

// "speech" of model.json; null if the model has no scores of characters, or if files are missing that say how audio and
// texts are made. Throws Error(input).
[[nodiscard]] Json speech_block(const Draft &draft);

// Adds such audio to "generation" of model.json, as the source. Returns whether a file says how it is made. Throws
// Error(input).
[[nodiscard]] bool add_audio_source(const Draft &draft, Json &generation);

} // namespace lamina::architectures
