#include "proof/step_case.hpp"

#include <algorithm>
#include <numeric>

namespace lamina::proof {
namespace {

abi::ParamValue value_of(const lamina_param &param, double number) {
    if (param.kind == LAMINA_BOOL) return number != 0;
    if (param.kind != LAMINA_CHOICE) return number;
    std::string_view names = param.choices; // "interleaved|halves"
    for (auto skip = static_cast<size_t>(number); skip > 0; --skip) names.remove_prefix(names.find('|') + 1);
    return std::string(names.substr(0, names.find('|')));
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
        if (list == abi::PortList::weight && size_of(type.dtype) == 2) c.weights = type.dtype;
    }
}

Case case_of(const abi::LayerCall &step) {
    const lamina_layer &layer = *step.layer().contract;
    Case c;
    for (uint32_t i = 0; i < layer.n_params; ++i)
        c.params[layer.params[i].name] = value_of(layer.params[i], step.params()[i]);
    for (const auto &[name, size] : step.dims().values)
        if (!is_param(layer, name)) c.dims[name] = size;
    if (const auto &axes = step.dims().ellipsis; axes && !axes->empty()) { // of any number: all but the last as one
        if (axes->size() > 1) c.dims["T"] = axes->back();
        c.dims["B"] =
            std::accumulate(axes->begin(), axes->end() - (axes->size() > 1 ? 1 : 0), int64_t{1}, std::multiplies<>());
    }
    take_ports(step, abi::PortList::in, {layer.inputs, layer.n_inputs}, c);
    take_ports(step, abi::PortList::weight, {layer.weights, layer.n_weights}, c);
    take_ports(step, abi::PortList::state, {layer.states, layer.n_states}, c);
    return c;
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
        while (work_of(call_of(step.layer(), c)) > most) {
            const auto largest = std::max_element(c.dims.begin(), c.dims.end(),
                                                  [](const auto &a, const auto &b) { return a.second < b.second; });
            if (largest == c.dims.end() || largest->second < 2) return {};
            largest->second /= 2;
        }
    } catch (const Error &) { // half of it is not what the layer takes
        return {};
    }
    const auto &states = step.types(abi::PortList::state);
    const bool has_states = std::any_of(states.begin(), states.end(), [](const auto &t) { return !t.shape.empty(); });
    std::vector<Case> out;
    for (uint64_t seed = 1; seed <= (has_states ? 3 : 1); ++seed) {
        c.seed = seed;
        out.push_back(c);
    }
    return out;
}

} // namespace lamina::proof
