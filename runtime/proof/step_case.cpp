#include "proof/step_case.hpp"

#include "proof/values.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace lamina::proof {
namespace {

abi::ParamValue value_of(const lamina_param &param, double number) {
    if (param.kind == LAMINA_BOOL) return number != 0;
    if (param.kind != LAMINA_CHOICE) return number;
    std::string_view names = param.choices; // "interleaved|halves"
    for (auto skip = static_cast<size_t>(number); skip > 0; --skip) names.remove_prefix(names.find('|') + 1);
    return std::string(names.substr(0, names.find('|')));
}

std::set<std::string, std::less<>> set_of(const std::vector<std::string> &names) {
    return {names.begin(), names.end()};
}

bool is_param(const lamina_layer &layer, const std::string &name) {
    return std::any_of(layer.params, layer.params + layer.n_params,
                       [&](const lamina_param &p) { return name == p.name; });
}

void take_ports(const abi::LayerCall &step, abi::PortList list, std::span<const lamina_port> ports, Case &c) {
    for (uint32_t i = 0; i < ports.size(); ++i) {
        const TensorType &type = step.types(list)[i];
        if (type.shape.empty() || step.bound(list)[i] != i) continue;
        if (list == abi::PortList::state || (ports[i].flags & LAMINA_OPTIONAL) != 0) c.given.insert(ports[i].name);
        if (list != abi::PortList::weight) continue;
        if (size_of(type.dtype) == 2 && c.weights == DType::f32 && c.dtypes.empty()) c.weights = type.dtype;
        if (weight_dtype(ports[i], c) != type.dtype) c.dtypes[ports[i].name] = type.dtype;
    }
}

Case case_of(const abi::LayerCall &step) {
    const lamina_layer &layer = *step.layer().contract;
    Case c;
    for (uint32_t i = 0; i < layer.n_params; ++i)
        c.params[layer.params[i].name] = value_of(layer.params[i], step.params()[i]);
    for (const auto &[name, size] : step.dims().values)
        if (!is_param(layer, name)) c.dims[name] = size;
    if (const auto &axes = step.dims().ellipsis; axes && !axes->empty()) c.axes = *axes;
    take_ports(step, abi::PortList::in, {layer.inputs, layer.n_inputs}, c);
    take_ports(step, abi::PortList::weight, {layer.weights, layer.n_weights}, c);
    take_ports(step, abi::PortList::state, {layer.states, layer.n_states}, c);
    return c;
}

// Names of axes along which a kernel works, of weights and of rows: what it is specialized for. The others say how
// often it does the same.
std::set<std::string, std::less<>> columns_of(const lamina_layer &layer) {
    std::set<std::string, std::less<>> out;
    for (const lamina_port &p : std::span(layer.weights, layer.n_weights)) out.merge(set_of(abi::names_in(p.dims)));
    for (const lamina_port &p : std::span(layer.inputs, layer.n_inputs)) {
        const std::string_view dims = p.dims;
        if (p.dtypes != LAMINA_I32) out.merge(set_of(abi::names_in(dims.substr(dims.rfind(' ') + 1))));
    }
    return out;
}

// Halves the largest size, columns last; false when all are 1.
bool halve(Case &c, const std::set<std::string, std::less<>> &columns) {
    std::vector<int64_t *> rows, others;
    for (int64_t &size : c.axes) rows.push_back(&size);
    for (auto &[name, size] : c.dims) (columns.contains(name) ? others : rows).push_back(&size);
    for (const auto &sizes : {rows, others}) {
        const auto largest = std::max_element(sizes.begin(), sizes.end(), [](auto *x, auto *y) { return *x < *y; });
        if (largest == sizes.end() || **largest < 2) continue;
        **largest /= 2;
        return true;
    }
    return false;
}

// Inputs that say where in its sequence a token stands: integers of a range too wide for anything else.
std::vector<std::string> positions_of(const abi::LayerCall &step) {
    const lamina_layer &layer = *step.layer().contract;
    std::vector<std::string> out;
    for (uint32_t i = 0; i < layer.n_inputs; ++i) {
        const auto range = step.types(abi::PortList::in)[i].shape.empty() ? std::nullopt : step.values(i);
        if (range && range->second - range->first > wide_range) out.emplace_back(layer.inputs[i].name);
    }
    return out;
}

} // namespace

double work_of(const abi::LayerCall &call) {
    double rows = 0, work = 0;
    for (const TensorType &t : call.types(abi::PortList::in)) {
        if (t.shape.empty()) continue;
        const auto elements = static_cast<double>(element_count(t.shape));
        const auto longest = static_cast<double>(*std::max_element(t.shape.begin(), t.shape.end() - 1, std::less<>()));
        rows = std::max(rows, t.shape.size() < 2 ? 1 : elements / static_cast<double>(t.shape.back()));
        work += elements * (t.shape.size() < 2 ? 1 : longest);
    }
    for (const TensorType &t : call.types(abi::PortList::weight))
        if (!t.shape.empty()) work += rows * static_cast<double>(element_count(t.shape));
    return work;
}

std::vector<Case> cases_like(const abi::LayerCall &step, double most) {
    Case c = case_of(step);
    try {
        const std::set<std::string, std::less<>> columns = columns_of(*step.layer().contract);
        while (work_of(call_of(step.layer(), c)) > most)
            if (!halve(c, columns)) return {};
    } catch (const Error &) { // half of it is not what the layer takes
        return {};
    }
    const auto &states = step.types(abi::PortList::state);
    if (std::none_of(states.begin(), states.end(), [](const auto &t) { return !t.shape.empty(); })) return {c};
    // What it does depends on how far the states are filled: at the beginning, at one place in all rows, anywhere.
    std::vector<Case> out{c, c, c, c};
    out[1].seed = 2;
    for (const std::string &position : positions_of(step)) {
        out[2].values[position] = Values::zeros;
        out[3].values[position] = Values::one;
    }
    return out;
}

} // namespace lamina::proof
