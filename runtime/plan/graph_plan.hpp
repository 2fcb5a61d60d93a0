// A graph with every shape solved: its tensors and its layer calls. Independent of the device.
#pragma once

#include "abi/call.hpp"
#include "model/model.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

struct PlannedTensor {
    enum class Kind { input, weight, activation, state };
    std::string name; // graph input, name in the safetensors file, "NODE" or "NODE.PORT"
    TensorType type;
    Kind kind = Kind::activation;
    bool output = false; // of the graph, so its memory is not reused by later steps
    bool stays = false;  // an output that is rarely read: runs do not bring it to the host
};

inline constexpr int32_t none = -1; // a port that is left out

struct Step {
    std::string name; // the node's
    abi::LayerCall call;
    std::vector<int32_t> in, weight, out, state; // indices into GraphPlan::tensors, in the contract's order; or none
    std::vector<std::string> replaces{};         // of a fusion: the nodes that it computes
};

struct GraphPlan {
    std::string graph;
    std::vector<PlannedTensor> tensors;
    std::vector<Step> steps;
    std::map<std::string, int32_t, std::less<>> inputs, outputs; // by the graph's names
    int64_t sequences = 0; // that states have memory for; 0: as many as steps compute, which are the first of them

    // A state with all its sequences.
    [[nodiscard]] TensorType whole(const PlannedTensor &state) const;
    [[nodiscard]] int32_t tensor(std::string_view name) const; // Throws Error(input) with the nearest name.
};

// The choice of `count` candidates, for the next token, from the scores that an output holds.
struct Candidates {
    std::string of; // the output
    int64_t count = 0;
    bool biased = false;      // by an input that is added to the scores
    bool with_scores = false; // all scores come to the host, too
};

// Shapes of the graph's inputs, and the capacity of its states (0: run without states). States are stored in
// `state_dtype` if their contract allows it, else in F32.
struct GraphShapes {
    std::map<std::string, TensorType, std::less<>> inputs;
    int64_t state_length = 0;
    int64_t sequences = 0; // as GraphPlan::sequences: programs for few sequences share the states of those for more
    DType state_dtype = DType::f32;
    bool states_only = false;               // plan what the states depend on, and no outputs
    std::optional<Candidates> candidates{}; // see plan/candidates.hpp
};

// Throws Error(input) with the layer, its place in model.json, what was expected and what was found.
[[nodiscard]] GraphPlan plan_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                                   const GraphShapes &shapes);

// The beginning of messages about a layer: its place in model.json.
[[nodiscard]] std::string place_of(const model::Model &model, const model::Node &node);
// The name in the safetensors file of a layer's weight.
[[nodiscard]] std::string weight_name(const model::Node &node, const char *port);

// One step of a plan as a separate plan. Tensors from other steps become inputs; its results become outputs.
[[nodiscard]] GraphPlan isolate(const GraphPlan &plan, size_t step);

// Some steps of a plan, in ascending order, as a separate plan. Tensors from other steps become inputs; results that
// others take become outputs.
struct Section {
    GraphPlan plan;
    std::vector<int32_t> tensors; // of the whole plan: by tensor of this one
};
[[nodiscard]] Section section(const GraphPlan &plan, std::span<const size_t> steps);
[[nodiscard]] Section section(const GraphPlan &plan, size_t first, size_t last); // steps first to last - 1

// The plan with other steps, which use its tensors. Its inputs stay; other tensors that no step uses are gone.
[[nodiscard]] GraphPlan with_steps(const GraphPlan &plan, std::vector<Step> steps);

// The names of weights that no layer of any graph uses. Without this check, a misspelt optional weight would count as
// left out.
[[nodiscard]] std::vector<std::string> unused_weights(const model::Model &model, const abi::Registry &plugins);

} // namespace lamina::plan
