// Labels from the scores of frames: connectionist temporal classification (CTC; Graves et al., ICML 2006).
#pragma once

#include "model/speech.hpp"

#include <lamina/audio.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lamina::generation {

// Logarithms of the probabilities of all labels, frame by frame. Throws NoAnswer for a score that is NaN or infinite.
[[nodiscard]] std::vector<double> log_probabilities_of(std::span<const float> scores, size_t labels);

// The labels of a window.
struct Spelled {
    std::vector<model::Speech::Run> runs{};
    double log_probability = 0; // of the path through the frames; of a beam search, of all paths of this text
};

// The likeliest label of each frame.
[[nodiscard]] Spelled likeliest_path(const model::Speech &speech, std::span<const double> log_probabilities);

// The likeliest text that a prefix beam search finds (Hannun et al., arXiv:1408.2873, without a language model), with
// the frames of its likeliest path.
[[nodiscard]] Spelled likeliest_text(const model::Speech &speech, std::span<const double> log_probabilities,
                                     size_t beams);

// The words or characters of a window, and when they were said: while frames have their labels, as transformers has it
// (models/wav2vec2/tokenization_wav2vec2.py, _compute_offsets and _get_word_offsets).
[[nodiscard]] std::vector<Transcript::Segment> segments_of(const model::Speech &speech,
                                                           std::span<const model::Speech::Run> runs, Timestamps which);

} // namespace lamina::generation
