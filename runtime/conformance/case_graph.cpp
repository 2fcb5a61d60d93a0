#include "conformance/case_graph.hpp"

#include "base/available_memory.hpp"
#include "base/random.hpp"
#include "conformance/sample.hpp"
#include "conformance/values.hpp"
#include "cpu/backend.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace lamina::conformance {
namespace {

using Kind = plan::PlannedTensor::Kind;

constexpr double most_values = 0x1p30;

class Builder {
  public:
    Builder(abi::LayerCall call, const PortValue &value_of) : call_(std::move(call)), value_of_(value_of) {}

    CaseGraph run() {
        const lamina_layer &contract = *call_.layer().contract;
        const std::string id(call_.layer().id());
        graph_.plan.graph = id;
        std::map<std::string, Tensor, std::less<>> weights;
        auto in = add(abi::PortList::in, {contract.inputs, contract.n_inputs}, Kind::input);
        auto weight = add(abi::PortList::weight, {contract.weights, contract.n_weights}, Kind::weight);
        auto out = add(abi::PortList::out, {contract.outputs, contract.n_outputs}, Kind::activation);
        auto state = add(abi::PortList::state, {contract.states, contract.n_states}, Kind::state);
        for (const int32_t t : weight)
            if (t != plan::none) {
                const std::string &name = graph_.plan.tensors[static_cast<size_t>(t)].name;
                weights[name] = std::move(graph_.values.at(t));
                graph_.values.erase(t);
            }
        graph_.weights = model::Weights::of(std::move(weights));
        graph_.results = out;
        for (const int32_t t : state)
            if (t != plan::none) graph_.results.push_back(t);
        graph_.plan.steps.push_back(
            {id, std::move(call_), std::move(in), std::move(weight), std::move(out), std::move(state)});
        return std::move(graph_);
    }

  private:
    // Adds the tensors of one list of ports and returns their indices. A port that another stands in for gets that
    // one's tensor.
    std::vector<int32_t> add(abi::PortList list, std::span<const lamina_port> ports, Kind kind) {
        std::vector<int32_t> indices;
        for (uint32_t i = 0; i < ports.size(); ++i) {
            const TensorType &type = call_.types(list)[i];
            const uint32_t bound = call_.bound(list)[i];
            if (bound != i || type.shape.empty()) {
                indices.push_back(bound != i ? indices[bound] : plan::none);
                continue;
            }
            const auto index = static_cast<int32_t>(graph_.plan.tensors.size());
            graph_.plan.tensors.push_back({ports[i].name, type, kind, kind == Kind::activation});
            indices.push_back(index);
            if (kind == Kind::input) graph_.plan.inputs[ports[i].name] = index;
            if (kind == Kind::activation) graph_.plan.outputs[ports[i].name] = index;
            if (kind != Kind::activation) graph_.values[index] = value_of_(list, i, type);
        }
        return indices;
    }

    abi::LayerCall call_;
    const PortValue &value_of_;
    CaseGraph graph_;
};

const lamina_port &port_of(const lamina_layer &contract, abi::PortList list, uint32_t port) {
    switch (list) {
    case abi::PortList::in:
        return contract.inputs[port];
    case abi::PortList::weight:
        return contract.weights[port];
    case abi::PortList::state:
        return contract.states[port];
    case abi::PortList::out:
        break;
    }
    return contract.outputs[port];
}

// The capacity of a call's states; 0 if it has no state whose size the host chooses.
int64_t capacity_of(const abi::LayerCall &call) {
    const lamina_layer &contract = *call.layer().contract;
    int64_t out = 0;
    for (uint32_t i = 0; i < contract.n_states; ++i)
        if (!call.types(abi::PortList::state)[i].shape.empty() && contract.states[i].capacity != nullptr)
            out = std::max(out, call.size(contract.states[i].capacity).value_or(0));
    return out;
}

// Throws if the case is too large.
void expect_reasonable(const abi::LayerCall &call) {
    const double bytes = host_bytes(call);
    if (values_of(call) > most_values)
        throw Error(ErrorCode::input,
                    call.where() + ": too large: a case may have at most 2^30 values in total; choose smaller sizes");
    const auto free = available_memory(static_cast<uint64_t>(bytes) + 1);
    if (free && bytes > static_cast<double>(*free))
        throw Error(ErrorCode::memory, call.where() + ": a case of this size takes " +
                                           std::to_string(static_cast<uint64_t>(bytes / 0x1p20)) +
                                           " MiB of the host's memory; " + std::to_string(*free >> 20u) +
                                           " MiB are available.");
}

} // namespace

double host_bytes(const abi::LayerCall &call) { return 3 * sizeof(float) * values_of(call); }

CaseGraph make_case_graph(abi::LayerCall call, const PortValue &value_of) {
    return Builder(std::move(call), value_of).run();
}

CaseGraph make_case_graph(const abi::Layer &layer, const Case &c) {
    const abi::LayerCall call = call_of(layer, c);
    expect_reasonable(call);
    if (c.sample != 0 && !call.by_rows())
        throw Error(ErrorCode::input,
                    call.where() + ": sample: the layer's reference always computes all rows (no by_rows)");
    CaseGraph graph = make_case_graph(call, [&](abi::PortList list, uint32_t i, const TensorType &type) {
        const lamina_port &port = port_of(*layer.contract, list, i);
        const auto asked = c.values.find(port.name);
        const Values values = asked != c.values.end()    ? asked->second
                              : type.dtype == DType::i32 ? Values::uniform
                                                         : Values::normal;
        Range range;
        if (const auto declared = list == abi::PortList::in ? call.values(abi::PortList::in, i) : std::nullopt)
            range = {declared->first, declared->second, capacity_of(call)};
        return make_values(type, values, list == abi::PortList::weight, range, c.seed, port.name);
    });
    graph.overflows = std::ranges::any_of(c.values, [](const auto &entry) { return entry.second == Values::overflow; });
    if (c.sample != 0) graph.rows = sample_of(call, static_cast<size_t>(c.sample));
    return graph;
}

CaseGraph rounded(const CaseGraph &graph) {
    CaseGraph out = graph;
    Random random(1, graph.plan.graph);
    for (auto &[index, tensor] : out.values)
        if (tensor.dtype() == DType::f32)
            for (float &v : tensor.f32()) v *= random.below(2) == 0 ? 1 + 0x1p-21F : 1 - 0x1p-21F;
    return out;
}

void restore_states(plan::Program &program, const CaseGraph &graph) {
    for (const auto &[index, tensor] : graph.values)
        if (graph.plan.tensors[static_cast<size_t>(index)].kind == Kind::state) program.write(index, tensor.bytes());
}

void write_values(plan::Program &program, const CaseGraph &graph) {
    for (const auto &[index, tensor] : graph.values) program.write(index, tensor.bytes());
}

std::vector<Tensor> run_case(plan::Program &program, const CaseGraph &graph) {
    program.run();
    std::vector<Tensor> results;
    for (const int32_t index : graph.results) {
        results.emplace_back(graph.plan.tensors[static_cast<size_t>(index)].type);
        program.read(index, results.back().bytes());
    }
    return results;
}

std::vector<Tensor> reference_of(const std::shared_ptr<const abi::Registry> &plugins, const CaseGraph &graph,
                                 const std::vector<int64_t> &rows) {
    const auto backend = cpu::make_backend(plugins, graph.weights, nullptr);
    plan::ProgramOptions options;
    options.poison = plan::poison_word; // exposes a reference that does not write all of its output
    options.references.rows = rows;
    const auto program = backend->compile(graph.plan, options);
    write_values(*program, graph);
    return run_case(*program, graph);
}

} // namespace lamina::conformance
