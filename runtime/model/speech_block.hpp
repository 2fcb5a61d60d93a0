// Reads the "speech" block of model.json, and checks every name in it against the graphs.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

#include <string>
#include <vector>

namespace lamina::model {

inline constexpr int64_t highest_sample_rate = 1000000, longest_window = 1 << 28; // of audio, in samples

// Audio of any length that a graph takes: the key `samples` of the block names the input, and `lengths` says how frames
// are counted. Adds the inputs that this gives values to `set`. Throws Error(input).
[[nodiscard]] AudioInput read_audio_in_frames(JsonView value, const Graph &graph, const char *samples,
                                              const char *lengths, std::vector<std::string> &set);

// The graphs must have been read. Throws Error(input).
[[nodiscard]] Speech read_speech(JsonView value, const Model &model);

} // namespace lamina::model
