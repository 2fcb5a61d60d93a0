// A conformance case ready to run: a graph of one layer, and values for all its inputs, weights and states.
#pragma once

#include "conformance/case.hpp"
#include "model/weights.hpp"
#include "plan/program.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lamina::conformance {

struct CaseGraph {
    plan::GraphPlan plan;
    model::Weights weights;
    std::map<int32_t, Tensor> values; // of inputs and states, by tensor of the plan
    std::vector<int32_t> results;     // what is compared: outputs, then states
    std::vector<int64_t> rows;        // of the outputs, if only a sample of them is compared
    bool overflows = false;           // has Values::overflow: errors as large as those of rounding are allowed
};

// The same with each real-valued input off by up to four units in the last place, as after rounding.
[[nodiscard]] CaseGraph rounded(const CaseGraph &graph);

// What a case takes of the host's memory: the values of all its tensors, and the copies that the reference and a device
// may have of them.
[[nodiscard]] double host_bytes(const abi::LayerCall &call);

// Returns the value of a port of the call. Weights must have the dtype of `type`.
using PortValue = std::function<Tensor(abi::PortList list, uint32_t port, const TensorType &type)>;
[[nodiscard]] CaseGraph make_case_graph(abi::LayerCall call, const PortValue &value_of);
// Throws Error(input) if the layer refuses the case.
[[nodiscard]] CaseGraph make_case_graph(const abi::Layer &layer, const Case &c);

// Sets inputs and states. For a later run of the same program restore_states() is enough, because inputs keep their
// values.
void write_values(plan::Program &program, const CaseGraph &graph);
void restore_states(plan::Program &program, const CaseGraph &graph);
// Runs, and reads graph.results.
[[nodiscard]] std::vector<Tensor> run_case(plan::Program &program, const CaseGraph &graph);

// The results of the layer's reference. rows: what it computes of outputs that are by_rows(); empty: all. Other rows
// are NaN.
[[nodiscard]] std::vector<Tensor> reference_of(const std::shared_ptr<const abi::Registry> &plugins,
                                               const CaseGraph &graph, const std::vector<int64_t> &rows);

} // namespace lamina::conformance
