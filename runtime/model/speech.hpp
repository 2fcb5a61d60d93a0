// How audio becomes text in a model that scores characters for each frame of audio: connectionist temporal
// classification (CTC; Graves et al., ICML 2006).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::model {

// Audio that a graph takes: one channel, from -1 to 1.
struct AudioInput {
    std::string samples = {}; // its input: (B, length), or (B, N, 1) of a model with frames
    int64_t length = 0;       // of a window, in samples: always, or at most
    int64_t rate = 0;         // samples per second
};

// An input of lengths, i32 (B): how many frames a sequence has. There is one for every `step` samples, as long as
// `width` samples are left.
struct Frames {
    std::string input = {};
    int64_t width = 1, step = 1;

    [[nodiscard]] int64_t count(int64_t samples) const { return samples < width ? 0 : (samples - width) / step + 1; }
    // As many frames as hear all of so many samples, the last of them with fewer than it could.
    [[nodiscard]] int64_t covering(int64_t samples) const {
        return samples <= width ? 1 : (samples - width + step - 1) / step + 1;
    }
    // How many samples so many frames have, with none left over.
    [[nodiscard]] int64_t samples(int64_t frames) const { return width + (frames - 1) * step; }
};

struct Speech {
    std::string graph = {};
    AudioInput audio = {};
    bool normalize = false;             // a window gets mean 0 and variance 1
    Frames lengths = {};                // frames of the scores
    std::optional<Frames> norm_lengths; // another input of lengths
    std::string logits;                 // the output, (B, frames, labels)
    std::vector<std::string> labels;    // what each score is of
    std::string blank;                  // the label for nothing
    std::string delimiter;              // the label between words; may be none of them
    std::string space = " ";            // what is written for it
    bool lowercase = false;             // of the text
    bool clean_up = false;              // no spaces before punctuation marks and in English contractions

    // A label, and the frames that have it: from `begin` to before `end`.
    struct Run {
        int32_t label = 0;
        size_t begin = 0, end = 0;
    };
    // The labels of all frames without repetitions, and without blanks, which separate them.
    [[nodiscard]] std::vector<Run> collapsed(std::span<const int32_t> frames) const;
    // The text of such labels.
    [[nodiscard]] std::string text_of(std::span<const int32_t> collapsed) const;
    // What is between the texts of two windows: a space, if there are any in texts.
    [[nodiscard]] std::string between() const;
};

} // namespace lamina::model
