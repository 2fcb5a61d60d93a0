// Reads the "speech" block of model.json, and checks every name in it against the graphs.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

inline constexpr int64_t highest_sample_rate = 1000000, longest_window = 1 << 28; // of audio, in samples

// The graphs must have been read. Throws Error(input).
[[nodiscard]] Speech read_speech(JsonView value, const Model &model);

} // namespace lamina::model
