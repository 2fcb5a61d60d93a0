// The shapes of the graphs that generation runs.
#pragma once

#include "model/model.hpp"
#include "plan/graph_plan.hpp"

#include <functional>

namespace lamina::generation {

// By the names of tensors.
using TensorTypes = std::map<std::string, TensorType, std::less<>>;

// Source ids (B, S) and lengths (B), or audio samples (B, N), or an image's patches (B, N, K). The length of a source
// is in tokens, or in frames of audio; others have one size.
[[nodiscard]] plan::GraphShapes encode_shapes(const model::Generation &g, int64_t batch, int64_t source_length);

// Target ids (B, T), position (B), their lengths (B) if it takes them and, if there is an encoder, its outputs and the
// source lengths (B). state_length: the length of the key-value cache; 0 decodes without one.
[[nodiscard]] plan::GraphShapes decode_shapes(const model::Generation &g, int64_t batch, int64_t target_length,
                                              const TensorTypes &encoded, int64_t state_length);

// Lengths and rows are rounded up, so that few programs serve all.
[[nodiscard]] int64_t rounded_length(size_t tokens);
[[nodiscard]] size_t rounded_rows(size_t rows);
// The rounded length of a source, limited by the model's positions.
[[nodiscard]] int64_t source_length(const model::Model &model, const abi::Registry &plugins, size_t tokens);

// Plans one step of decoding without a cache, for two sequences with sources of this length, as an example of any step.
// Throws the errors of planning.
[[nodiscard]] plan::GraphPlan plan_decode_step(const model::Model &model, const abi::Registry &plugins,
                                               int64_t source_length = 1);

// One more than the largest value that all layers which read this graph input allow; INT32_MAX if any is allowed.
[[nodiscard]] int64_t end_of_values(const plan::GraphPlan &plan, const std::string &input);

} // namespace lamina::generation
