// The choice of candidates: a layer behind a graph's scores, which finds the likeliest tokens of each row.
#pragma once

#include "plan/graph_plan.hpp"

namespace lamina::plan {

// Fewer scores are read as quickly as they are chosen from.
inline constexpr int64_t shortest_choice = 2048;

// The names of what the layer gives, among a plan's outputs, and of its input.
inline constexpr auto candidate_scores = "candidates.values", candidate_tokens = "candidates.indices",
                      candidate_sum = "candidates.sum", candidate_bias = "candidates.bias";

// Appends the layer top_k behind an output of the plan, unless its rows are shorter than shortest_choice or there is no
// such layer. Its outputs become those of the plan. The output that it chooses from stays on the device, unless
// `wanted` says otherwise.
void append_candidates(GraphPlan &plan, const abi::Registry &plugins, const Candidates &wanted);

} // namespace lamina::plan
