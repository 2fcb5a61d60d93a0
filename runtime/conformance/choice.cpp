#include "conformance/choice.hpp"

#include "abi/contract.hpp"

#include <algorithm>
#include <span>

namespace lamina::conformance {

std::optional<Choice> choice_of(const abi::LayerCall &call) {
    const lamina_layer &contract = *call.layer().contract;
    Choice out{contract.n_outputs, contract.n_outputs, contract.n_inputs};
    for (uint32_t i = 0; i < contract.n_outputs; ++i) {
        const lamina_port &port = contract.outputs[i];
        if ((port.flags & LAMINA_MARGIN) != 0) out.margin = i;
        if (port.follows != nullptr) {
            out.indices = i;
            out.given = abi::place_of_name(contract.inputs, contract.n_inputs, port.follows);
        }
    }
    if (out.indices == contract.n_outputs || !call.types(abi::PortList::in)[out.given].shape.empty())
        return std::nullopt;
    return out;
}

std::string fault_of_indices(const abi::LayerCall &call, const std::vector<Tensor> &results) {
    const lamina_layer &contract = *call.layer().contract;
    for (uint32_t i = 0; i < contract.n_outputs; ++i) {
        const auto range = call.values(abi::PortList::out, i);
        if (!range || results[i].dtype() != DType::i32) continue;
        const auto outside = [&](int32_t v) { return v < range->first || v >= range->second; };
        const std::span<const int32_t> values = results[i].i32();
        if (const auto at = std::ranges::find_if(values, outside); at != values.end())
            return std::string(contract.outputs[i].name) + ", element " + std::to_string(at - values.begin()) + ": " +
                   std::to_string(*at) + " is outside of the range from " + std::to_string(range->first) + " to " +
                   std::to_string(range->second - 1) + " that the contract declares";
    }
    return {};
}

bool has_twins(const Tensor &indices) {
    const auto columns = static_cast<size_t>(indices.shape().back());
    for (size_t first = 0; first < static_cast<size_t>(indices.size()); first += columns) {
        const auto row = indices.i32().subspan(first, columns);
        std::vector<int32_t> sorted(row.begin(), row.end());
        std::ranges::sort(sorted);
        if (std::ranges::adjacent_find(sorted) != sorted.end()) return true;
    }
    return false;
}

CaseGraph with_choice(const CaseGraph &graph, const Choice &choice, const Tensor &indices) {
    CaseGraph out = graph;
    plan::Step &step = out.plan.steps.front();
    const lamina_port &port = step.call.layer().contract->inputs[choice.given];
    const auto tensor = static_cast<int32_t>(out.plan.tensors.size());
    out.plan.tensors.push_back({port.name, indices.type(), plan::PlannedTensor::Kind::input, false});
    out.plan.inputs[port.name] = tensor;
    step.in[choice.given] = tensor;
    step.call = step.call.with(choice.given, choice.indices);
    out.values[tensor] = indices;
    return out;
}

std::optional<std::vector<Tensor>> reference_for_choice(const std::shared_ptr<const abi::Registry> &plugins,
                                                        const CaseGraph &graph, const std::vector<Tensor> &found,
                                                        const std::vector<int64_t> &rows,
                                                        const lamina_tolerance &tolerance) {
    const abi::LayerCall &call = graph.plan.steps.front().call;
    const auto choice = choice_of(call);
    if (!choice || !fault_of_indices(call, found).empty() || has_twins(found[choice->indices])) return std::nullopt;
    std::vector<Tensor> out = reference_of(plugins, with_choice(graph, *choice, found[choice->indices]), rows);
    const std::span<const float> margins = out[choice->margin].f32();
    const auto clear = [&](int64_t row) {
        return margins[static_cast<size_t>(row)] >= -(tolerance.rtol + tolerance.atol);
    };
    for (int64_t row = 0; rows.empty() && row < static_cast<int64_t>(margins.size()); ++row)
        if (!clear(row)) return std::nullopt;
    if (!std::ranges::all_of(rows, clear)) return std::nullopt;
    return out;
}

} // namespace lamina::conformance
