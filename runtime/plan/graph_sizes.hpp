// What a graph's weights and layers say about the sizes that its inputs leave open.
#pragma once

#include "plan/graph_plan.hpp"

#include <map>
#include <string>

namespace lamina::plan {

struct GraphSizes {
    // Every name in the dims of the graph's inputs, and the name that stands for its size: itself, or the first of
    // those that must be one size ("B" of two inputs that are added under the names "B" and "N").
    std::map<std::string, std::string, std::less<>> stands_for;
    // Sizes that can be only one thing, by the names that stand for them: "C" of an input that meets a weight.
    std::map<std::string, int64_t, std::less<>> fixed;
    // The first layer whose ports no sizes satisfy; null where the dims leave a choice. Sizes under a plugin's own
    // check, and in expressions with several open names, are not looked at: what is found here is so, but not all.
    const model::Node *impossible = nullptr;
};

// Throws nothing for a graph that is at fault: it says what is known up to there.
[[nodiscard]] GraphSizes graph_sizes(const model::Model &model, const model::Graph &graph,
                                     const abi::Registry &plugins);

} // namespace lamina::plan
