// What a model is used for, as plans of its graphs.
#pragma once

#include "abi/library.hpp"
#include "model/model.hpp"
#include "plan/graph_plan.hpp"

#include <string>
#include <vector>

namespace lamina::api {

struct Run {
    std::string what; // "a prompt of 128 tokens"
    plan::GraphPlan plan;
};

// A text of 128 tokens, or as many as the model takes, the next token, and eight texts at once. Throws Error(usage) for
// a model that neither generates nor reads.
[[nodiscard]] std::vector<Run> typical_runs(const model::Model &model, const abi::Registry &plugins);

} // namespace lamina::api
