// When the tokens of a text are spoken: some heads of the decoder attend to the audio there. What they attend to is
// normalized, smoothed and averaged, and dynamic time warping finds a path through it (github.com/openai/whisper,
// timing.py; the same times as transformers, models/whisper/generation_whisper.py, _extract_token_timestamps).
#pragma once

#include "session/state.hpp"

#include <lamina/lamina.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lamina::generation {

// `attended`: how much each of the rows attends to each position of the audio, (rows, positions). Returns at which
// position each row begins, on the path with the largest sum that visits all rows and positions in order.
[[nodiscard]] std::vector<size_t> warped(std::span<const double> attended, size_t rows);

// Replaces each value by the median of the `width`, an odd number, around it. Beyond both ends the values are
// reflected; if there are no more than half of the width, they stay as they are.
void smooth(std::span<double> values, size_t width);

// Throws Error(input) unless queries and keys of these shapes have such a head.
void expect_head(const model::Model &model, const model::Alignment::Head &head, const Shape &queries,
                 const Shape &keys);

// Sets `ends` of a hypothesis of a model with Generation::alignment: in seconds from the beginning of a window of so
// many samples. `encoded` is what encode() returned, and `row` the sequence of it.
void find_ends(detail::SessionState &session, const TensorMap &encoded, size_t row, size_t samples,
               Hypothesis &hypothesis);

struct Word {
    std::string text;
    size_t begin = 0, end = 0; // its tokens
};
// The words that tokens make, each with the punctuation beside it. `blanks`: the language has blanks between words;
// else every character is one (transformers, models/whisper/tokenization_whisper.py, _combine_tokens_into_words).
[[nodiscard]] std::vector<Word> words_among(const model::TextCodec &codec, std::span<const int32_t> tokens,
                                            bool blanks);

} // namespace lamina::generation
