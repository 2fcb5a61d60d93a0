// The inputs of an encoder: token ids, audio or images, one source per row.
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <span>
#include <variant>
#include <vector>

namespace lamina::generation {

using model::Ids;

using Samples = std::span<const float>; // a window of audio at the model's sample rate
using Patches = std::span<const float>; // an image as the encoder takes it
// For a model without an encoder, Ids are a prompt. The other alternative is Samples or Patches.
using Source = std::variant<Ids, std::span<const float>>;

[[nodiscard]] size_t length_of(const Source &source);

// of_sources: one row per source, as long as the longest. of_programs: rounded up as generation does for its programs;
// results of the padding are ignored.
enum class Rows { of_sources, of_programs };

// The inputs of the encode graph. No source may be empty, nor audio in frames shorter than one.
[[nodiscard]] TensorMap encoder_inputs(const model::Model &model, const abi::Registry &plugins,
                                       const std::vector<Source> &sources, Rows rows);

} // namespace lamina::generation
