#include "admission/step_case.hpp"

#include "conformance/sample.hpp"
#include "conformance/values.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>

namespace lamina::admission {
namespace {

using conformance::Case, conformance::Values;
using Limits = plan::Device::Limits;

std::set<std::string, std::less<>> set_of(const std::vector<std::string> &names) {
    return {names.begin(), names.end()};
}

bool is_param(const lamina_layer &layer, const std::string &name) {
    return std::any_of(layer.params, layer.params + layer.n_params,
                       [&](const lamina_param &p) { return name == p.name; });
}

// Adds the ports of a list to the case, except those that another port stands in for, and the names of their axes.
void take_ports(const abi::LayerCall &step, abi::PortList list, std::span<const lamina_port> ports, Case &c) {
    for (uint32_t i = 0; i < ports.size(); ++i) {
        const TensorType &type = step.types(list)[i];
        if (type.shape.empty() || step.bound(list)[i] != i) continue;
        for (const std::string &name : abi::names_in(ports[i].dims))
            if (const auto size = step.size(name); size && !is_param(*step.layer().contract, name))
                c.dims[name] = *size;
        if (list == abi::PortList::out) continue;
        if (list == abi::PortList::state || (ports[i].flags & LAMINA_OPTIONAL) != 0) c.given.insert(ports[i].name);
        if (type.dtype != DType::i32 && (ports[i].flags & LAMINA_OPTIONAL) != 0)
            if (const auto values = conformance::usual_values(*step.layer().contract, ports[i].name))
                c.values[ports[i].name] = *values;
        if (list == abi::PortList::state && type.dtype != DType::f32) c.dtypes[ports[i].name] = type.dtype;
        if (list != abi::PortList::weight) continue;
        if (weight_dtype(ports[i], c) != type.dtype) c.dtypes[ports[i].name] = type.dtype;
    }
}

// What a case calls the dtype of its weights; those that have another are named one by one.
DType dtype_of_weights(const abi::LayerCall &step) {
    const std::span<const TensorType> types = step.types(abi::PortList::weight);
    const auto narrow = std::ranges::find_if(
        types, [](const TensorType &type) { return !type.shape.empty() && type.dtype != DType::f32; });
    return narrow == types.end() ? DType::f32 : narrow->dtype;
}

Case case_of(const abi::LayerCall &step) {
    const lamina_layer &layer = *step.layer().contract;
    Case c;
    c.weights = dtype_of_weights(step);
    for (uint32_t i = 0; i < layer.n_params; ++i)
        c.params[layer.params[i].name] = abi::param_value(layer.params[i], step.params()[i]);
    c.axes = step.leading();
    take_ports(step, abi::PortList::in, {layer.inputs, layer.n_inputs}, c);
    take_ports(step, abi::PortList::weight, {layer.weights, layer.n_weights}, c);
    take_ports(step, abi::PortList::state, {layer.states, layer.n_states}, c);
    take_ports(step, abi::PortList::out, {layer.outputs, layer.n_outputs}, c);
    return c;
}

// The names of the axes of weights and rows. Kernels are specialized for these sizes; other axes only determine how
// often a kernel does the same.
std::set<std::string, std::less<>> columns_of(const abi::LayerCall &step) {
    const lamina_layer &layer = *step.layer().contract;
    std::set<std::string, std::less<>> out;
    for (uint32_t i = 0; i < layer.n_weights; ++i) out.merge(set_of(abi::names_in(layer.weights[i].dims)));
    for (uint32_t i = 0; i < layer.n_inputs; ++i) {
        const std::string_view dims = layer.inputs[i].dims;
        const TensorType &type = step.types(abi::PortList::in)[i];
        if (type.shape.empty() || type.dtype == DType::i32) continue;
        out.merge(set_of(abi::names_in(dims.substr(dims.rfind(' ') + 1))));
    }
    return out;
}

// Groups of sizes to halve together: rows one by one, the largest first, then all rows at once (some depend on each
// other), then columns in the same way.
std::vector<std::vector<int64_t *>> halvings(Case &c, const std::set<std::string, std::less<>> &columns) {
    std::vector<int64_t *> rows, others;
    for (int64_t &size : c.axes) rows.push_back(&size);
    for (auto &[name, size] : c.dims) (columns.contains(name) ? others : rows).push_back(&size);
    std::vector<std::vector<int64_t *>> out;
    for (auto *sizes : {&rows, &others}) {
        std::erase_if(*sizes, [](const int64_t *size) { return *size < 2; });
        std::stable_sort(sizes->begin(), sizes->end(), [](auto *x, auto *y) { return *x > *y; });
        for (int64_t *size : *sizes) out.push_back({size});
        if (sizes->size() > 1) out.push_back(*sizes);
    }
    return out;
}

// Halves the first group for which the layer accepts the smaller case and the case is alike. Returns false if there is
// none.
bool halve(const abi::Layer &layer, Case &c, const std::set<std::string, std::less<>> &columns, const Alike &alike) {
    const Case whole = c;
    const size_t n = halvings(c, columns).size();
    for (size_t i = 0; i < n; ++i) {
        const std::vector<int64_t *> sizes = halvings(c, columns)[i];
        for (int64_t *size : sizes) *size /= 2;
        try {
            if (alike(call_of(layer, c))) return true;
        } catch (const Error &) { // the layer refuses this one; it may accept another
        }
        c = whole;
    }
    return false;
}

// The cost of a case that is not sampled, as a multiple of the limits.
double cost_of(const abi::LayerCall &call, const Limits &most) {
    return std::max(conformance::values_of(call) / most.values,
                    call.by_rows() ? 0 : conformance::work_of(call) / most.work);
}

// Inputs that hold positions in a sequence: integers with a range too wide for anything else.
std::vector<std::string> positions_of(const abi::LayerCall &step) {
    const lamina_layer &layer = *step.layer().contract;
    std::vector<std::string> out;
    for (uint32_t i = 0; i < layer.n_inputs; ++i) {
        const auto range =
            step.types(abi::PortList::in)[i].shape.empty() ? std::nullopt : step.values(abi::PortList::in, i);
        if (range && range->second - range->first > conformance::wide_range) out.emplace_back(layer.inputs[i].name);
    }
    return out;
}

} // namespace

StepCases cases_like(const abi::LayerCall &step, const plan::Device::Limits &most, const Alike &alike) {
    const abi::Layer &layer = step.layer();
    const std::set<std::string, std::less<>> columns = columns_of(step);
    const auto any = [](const abi::LayerCall &) { return true; };
    Case c = case_of(step);
    StepCases out{{}, true};
    for (double cost = cost_of(step, most); cost > 1; cost = cost_of(call_of(layer, c), most)) {
        if (halve(layer, c, columns, alike)) continue;
        if (cost <= 10) break;
        out.alike = false;
        if (!halve(layer, c, columns, any)) return out;
    }
    if (const abi::LayerCall call = call_of(layer, c); call.by_rows() && conformance::work_of(call) > most.work)
        c.sample = conformance::affordable_rows(call, most.work);
    out.cases = {c};
    const std::vector<std::string> positions = positions_of(step);
    const auto &states = step.types(abi::PortList::state);
    if (std::none_of(states.begin(), states.end(), [](const auto &t) { return !t.shape.empty(); })) {
        if (positions.empty()) return out;
        out.cases = {c, c}; // random positions are small ones
        for (const std::string &position : positions) out.cases[1].values[position] = Values::max;
        return out;
    }
    // The result depends on how far the states are filled: anywhere (two seeds), empty, or one step in all rows.
    out.cases = {c, c, c, c};
    out.cases[1].seed = 2;
    for (const std::string &position : positions) {
        out.cases[2].values[position] = Values::zeros;
        out.cases[3].values[position] = Values::one;
    }
    return out;
}

} // namespace lamina::admission
