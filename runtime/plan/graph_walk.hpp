// Solves a graph's layers one after the other, each from the ones before it. Sizes may be open.
#pragma once

#include "plan/graph_plan.hpp"

#include <functional>

namespace lamina::plan {

struct WalkedTensor {
    std::string name; // as PlannedTensor's
    abi::OpenType type;
    PlannedTensor::Kind kind = PlannedTensor::Kind::activation;
    std::optional<abi::OpenCall::Range> range{}; // of the values that a layer computes, if its contract says it
};

struct WalkedStep {
    std::string name; // the node's
    abi::OpenCall call;
    std::vector<int32_t> in, weight, out, state; // indices into tensors(), in the contract's order; or none
};

class GraphWalk {
  public:
    using Inputs = std::map<std::string, abi::OpenType, std::less<>>;
    using Indices = std::map<std::string, int32_t, std::less<>>; // into tensors(), by name

    // Without a capacity for its states, the graph runs without them. The solver learns what the dims say about open
    // sizes. All functions throw Error(input) with the place in model.json, what was expected and what was found.
    GraphWalk(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins, abi::Solver &solver,
              const Inputs &inputs, abi::HostStates states = {});

    // The next layer, before its plugin's own check; nothing after the last one.
    [[nodiscard]] std::optional<WalkedStep> next();

    [[nodiscard]] const std::vector<WalkedTensor> &tensors() const { return tensors_; }
    [[nodiscard]] const Indices &inputs() const { return inputs_; }
    [[nodiscard]] Indices outputs() const; // by the graph's names; after the last layer

  private:
    const model::Model &model_;
    const model::Graph &graph_;
    const abi::Registry &plugins_;
    abi::Solver &solver_;
    const abi::HostStates states_;
    size_t done_ = 0; // nodes
    std::vector<WalkedTensor> tensors_;
    Indices inputs_, weights_, index_; // index_: inputs and activations

    int32_t add(std::string name, abi::OpenType type, PlannedTensor::Kind kind);
    [[nodiscard]] int32_t index_of(const std::string &tensor, const std::string &where) const;
    void take_inputs(const Inputs &given);
    [[nodiscard]] const abi::Layer &layer_of(const model::Node &node, const std::string &where) const;
    Indices take_weights(const model::Node &node, const lamina_layer &contract, const std::string &where);
    std::optional<int32_t> take_weight(const model::Node &node, const lamina_port &port, const std::string &where);
    [[nodiscard]] std::string no_tensor(const std::string &name) const;
    void expect_values_of_inputs(const WalkedStep &step) const;
};

// Inputs with open sizes: each name in the graph's dims is an unknown. For a decoder, sizes that the encoder determines
// are numbers.
[[nodiscard]] GraphWalk::Inputs open_inputs(const model::Model &model, const model::Graph &graph,
                                            const abi::Registry &plugins, abi::Solver &solver);

} // namespace lamina::plan
