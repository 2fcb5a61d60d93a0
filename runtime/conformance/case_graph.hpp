// A conformance case made ready to run: a graph of one layer, and a value for every tensor that goes in.
#pragma once

#include "conformance/case.hpp"
#include "model/safetensors.hpp"
#include "plan/program.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lamina::conformance {

struct CaseGraph {
    plan::GraphPlan plan;
    model::Safetensors weights;
    std::map<int32_t, Tensor> values; // of inputs and states, by tensor of the plan: states have a history
    std::vector<int32_t> results;     // what is compared: outputs, then states
};

// The value of a port that a call is given; floating-point weights in the dtype of `type`.
using PortValue = std::function<Tensor(abi::PortList list, uint32_t port, const TensorType &type)>;
[[nodiscard]] CaseGraph make_case_graph(abi::LayerCall call, const PortValue &value_of);
// Throws Error(input) when the layer refuses the case.
[[nodiscard]] CaseGraph make_case_graph(const abi::Layer &layer, const Case &c);

// Sets inputs and states. A later run of the same program needs restore_states() alone, since inputs stay.
void write_values(plan::Program &program, const CaseGraph &graph);
void restore_states(plan::Program &program, const CaseGraph &graph);
// Runs, and reads graph.results.
[[nodiscard]] std::vector<Tensor> run_case(plan::Program &program, const CaseGraph &graph);

// What the layer's reference makes of the case.
[[nodiscard]] std::vector<Tensor> reference_of(const std::shared_ptr<const abi::Registry> &plugins,
                                               const CaseGraph &graph);

} // namespace lamina::conformance
