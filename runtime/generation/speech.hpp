// Texts of audio by a model that scores characters for each frame (CTC).
#pragma once

#include "generation/sources.hpp"
#include "session/state.hpp"

#include <vector>

namespace lamina::generation {

// Throws Error(usage) for options that such a model has no use for, because it chooses the likeliest label of each
// frame.
void expect_no_choices(const GenerateOptions &options);

// The text of each window, with what is between the texts of two windows before it. One that is shorter than a frame
// has none. options.stream and options.failed are called with the window's index; one that failed has an empty
// hypothesis.
[[nodiscard]] std::vector<Hypothesis> recognized(detail::SessionState &session, const std::vector<Samples> &windows,
                                                 const GenerateOptions &options);

// What the graph takes of `batch` sequences with so many frames.
[[nodiscard]] plan::GraphShapes shapes_of(const model::Speech &speech, int64_t batch, int64_t frames);

// The model's inputs for windows with at least one frame each, in so many rows of so many frames, which must cover
// them.
[[nodiscard]] TensorMap inputs_of_windows(const model::Speech &speech, const std::vector<Samples> &windows,
                                          int64_t rows, int64_t frames);

// Two tones of different lengths.
[[nodiscard]] TensorMap usual_inputs(const model::Speech &speech);

// Throws Error(input) unless the model's output for these has this shape.
void expect_shape_of_speech(const model::Model &model, const Shape &output, int64_t batch, int64_t frames);

} // namespace lamina::generation
