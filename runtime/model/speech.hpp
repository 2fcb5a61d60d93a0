// How audio becomes text in a model that scores characters for each frame of audio: connectionist temporal
// classification (CTC; Graves et al., ICML 2006).
#pragma once

#include "model/audio_input.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamina::model {

struct Speech {
    std::string graph = {};
    AudioInput audio = {};           // in frames, each of which has scores
    std::string logits;              // the output, (B, frames, labels)
    std::vector<std::string> labels; // what each score is of
    std::string blank;               // the label for nothing
    std::string delimiter;           // the label between words; may be none of them
    std::string space = " ";         // what is written for it
    bool lowercase = false;          // of the text
    bool clean_up = false;           // no spaces before punctuation marks and in English contractions

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
