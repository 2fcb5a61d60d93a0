// When the tokens of a text are spoken: heads of the decoder attend to the audio there. What each head attends to is
// normalized, smoothed and averaged, and dynamic time warping finds a path through it (github.com/openai/whisper,
// timing.py; numbers as transformers has them, models/whisper/generation_whisper.py, _extract_token_timestamps).
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

// The middle of `width` values around each, which is odd; behind both ends come those before them again. Fewer than
// half of the width stay as they are.
void smooth(std::span<double> values, size_t width);

// Throws Error(input) unless queries and keys of these shapes have such a head.
void expect_head(const model::Model &model, const model::Alignment::Head &head, const Shape &queries,
                 const Shape &keys);

// Sets `ends` of a hypothesis of a model with Generation::alignment: in seconds from the beginning of a window of so
// many samples. `encoded` is what encode() returned, and `row` the sequence of it.
void find_ends(detail::SessionState &session, const TensorMap &encoded, size_t row, size_t samples,
               Hypothesis &hypothesis);

// The indices of the tokens that are words, in order. A word has the mark before it or behind it, and in languages
// without blanks between words it is a character (transformers, models/whisper/tokenization_whisper.py,
// _combine_tokens_into_words).
struct Word {
    std::string text;
    size_t begin = 0, end = 0; // its tokens
};
[[nodiscard]] std::vector<Word> words_among(const model::TextCodec &codec, std::span<const int32_t> tokens,
                                            bool blanks);

} // namespace lamina::generation
