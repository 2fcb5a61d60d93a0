// The shapes that a model's generation block asks its graphs for.
#pragma once

#include "model/model.hpp"
#include "plan/graph_plan.hpp"

namespace lamina::session {

// Source ids (B, S) and lengths (B).
[[nodiscard]] plan::GraphShapes encode_shapes(const model::Generation &g, int64_t batch, int64_t source_length);

// Target ids (B, T), position (B), and, where there is an encoder, its memory and the source lengths (B).
// state_length: of the KV cache; 0 decodes without one.
[[nodiscard]] plan::GraphShapes decode_shapes(const model::Generation &g, int64_t batch, int64_t target_length,
                                              const TensorType &memory, int64_t state_length);

// One step of decoding without a cache, for two sequences: what a step is like, whatever the text. The graphs are
// planned, and errors are theirs.
[[nodiscard]] plan::GraphPlan plan_decode_step(const model::Model &model, const abi::Registry &plugins);

} // namespace lamina::session
