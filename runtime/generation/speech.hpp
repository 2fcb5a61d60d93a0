// Texts of audio by a model that scores characters for each frame (CTC).
#pragma once

#include "generation/sources.hpp"
#include "session/state.hpp"

#include <lamina/audio.hpp>

#include <vector>

namespace lamina::generation {

// Throws Error(usage) for options that such a model has no use for, because it takes the likeliest labels.
void expect_no_choices(const GenerateOptions &options);

// The transcript of each window, with one part, whose text begins with what is between the texts of two windows; times
// count from its beginning. One that is shorter than a frame has no text. options.stream and options.failed are called
// with the window's index; one that failed has no part.
[[nodiscard]] std::vector<Transcript> recognized(detail::SessionState &session, const std::vector<Samples> &windows,
                                                 const GenerateOptions &options);

// Throws Error(input) unless the model's output for these has this shape.
void expect_shape_of_speech(const model::Model &model, const Shape &output, int64_t batch, int64_t frames);

} // namespace lamina::generation
