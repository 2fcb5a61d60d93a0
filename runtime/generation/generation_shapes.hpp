// The shapes that a model's generation block asks its graphs for.
#pragma once

#include "model/model.hpp"
#include "plan/graph_plan.hpp"

#include <functional>

namespace lamina::generation {

// By the names of tensors.
using TensorTypes = std::map<std::string, TensorType, std::less<>>;

// Source ids (B, S) and lengths (B).
[[nodiscard]] plan::GraphShapes encode_shapes(const model::Generation &g, int64_t batch, int64_t source_length);

// Target ids (B, T), position (B), and, where there is an encoder, what it gives and the source lengths (B).
// state_length: of the KV cache; 0 decodes without one.
[[nodiscard]] plan::GraphShapes decode_shapes(const model::Generation &g, int64_t batch, int64_t target_length,
                                              const TensorTypes &encoded, int64_t state_length);

// Lengths and rows are rounded up, so that few programs serve all.
[[nodiscard]] int64_t rounded_length(size_t tokens);
[[nodiscard]] size_t rounded_rows(size_t rows);
// A source's, unless the model has fewer positions.
[[nodiscard]] int64_t source_length(const model::Model &model, const abi::Registry &plugins, size_t tokens);

// One step of decoding without a cache, for two sequences: what a step is like, whatever the text. The graphs are
// planned, and errors are theirs.
[[nodiscard]] plan::GraphPlan plan_decode_step(const model::Model &model, const abi::Registry &plugins);

// One beyond the largest value that all layers take which read this input of the graph; INT32_MAX where any will do.
[[nodiscard]] int64_t end_of_values(const plan::GraphPlan &plan, const std::string &input);

} // namespace lamina::generation
