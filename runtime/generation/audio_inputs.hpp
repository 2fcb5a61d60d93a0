// What a graph takes of audio of any length (model::AudioFrames).
#pragma once

#include "generation/sources.hpp"
#include "plan/graph_plan.hpp"

#include <vector>

namespace lamina::generation {

// Of `batch` sequences with so many frames.
[[nodiscard]] plan::GraphShapes shapes_of(const model::AudioInput &audio, int64_t batch, int64_t frames);

// How many frames the program for windows of up to so many samples has: so that few programs serve all, at most a
// quarter of the frames are filler.
[[nodiscard]] int64_t frames_of_program(const model::AudioInput &audio, int64_t samples);

// The inputs for windows with at least one frame each, in so many rows of so many frames, which must cover them.
[[nodiscard]] TensorMap inputs_of_windows(const model::AudioInput &audio, const std::vector<Samples> &windows,
                                          int64_t rows, int64_t frames);

// Two tones of different lengths.
[[nodiscard]] std::vector<std::vector<float>> usual_tones(const model::AudioInput &audio);
[[nodiscard]] TensorMap usual_inputs(const model::AudioInput &audio);

} // namespace lamina::generation
