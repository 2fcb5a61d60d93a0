#include "conformance/case_menu.hpp"

#include "base/storage.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <sstream>

namespace lamina::conformance {

Menu::Menu(const lamina_layer &layer) {
    for (const auto ports : {std::span(layer.inputs, layer.n_inputs), std::span(layer.weights, layer.n_weights),
                             std::span(layer.states, layer.n_states)})
        for (const lamina_port &port : ports) read(port, ports.data() == layer.states);
    for (const lamina_port &port : std::span(layer.weights, layer.n_weights))
        if (std::string_view(port.dims).find(' ') != std::string_view::npos)
            for (const std::string &name : abi::names_in(port.dims)) matrices.insert(name);
    for (const lamina_port &port : std::span(layer.inputs, layer.n_inputs)) {
        const std::string_view port_dims = port.dims, last = port_dims.substr(port_dims.rfind(' ') + 1);
        for (const std::string &name : abi::names_in(last == "..." ? "T" : last)) columns.insert(name);
        values[port.name] = port.dtypes == LAMINA_I32 ? std::vector{Values::zeros, Values::one, Values::max}
                                                      : std::vector{Values::zeros, Values::one_hot, Values::tiny};
    }
    for (const auto ports : {std::span(layer.inputs, layer.n_inputs), std::span(layer.weights, layer.n_weights)})
        for (const lamina_port &port : ports)
            if (const auto meant = usual_values(layer, port.name)) usual.emplace(port.name, *meant);
    for (const char *text : std::span(layer.cases, layer.n_cases))
        for (const auto &[port, v] : parse_case(layer, text).values)
            if (!usual.contains(port)) values[port].push_back(v);
    for (const lamina_param &p : std::span(layer.params, layer.n_params)) {
        dims.erase(p.name);
        if (p.kind != LAMINA_CHOICE) continue;
        const auto bars = std::ranges::count(std::string_view(p.choices), '|');
        choices = std::max(choices, static_cast<size_t>(bars) + 1);
    }
    combine(layer);
}

// None, all, and each alone. Also all states with each of the others, because states belong together.
void Menu::combine(const lamina_layer &layer) {
    std::set<std::string, std::less<>> states;
    for (const lamina_port &port : std::span(layer.states, layer.n_states)) states.insert(port.name);
    combinations = {{}, {optional.begin(), optional.end()}};
    for (const std::string &port : optional) combinations.push_back({port});
    if (states.empty()) return;
    for (const std::string &port : optional) {
        if (states.contains(port)) continue;
        with_states.push_back(combinations.size());
        combinations.push_back(states);
        combinations.back().insert(port);
    }
}

void Menu::read(const lamina_port &port, bool state) {
    if (state || (port.flags & LAMINA_OPTIONAL) != 0) optional.emplace_back(port.name);
    std::istringstream tokens(port.dims);
    for (std::string token; tokens >> token;) {
        ellipsis |= token == "...";
        for (const std::string &name : abi::names_in(token)) {
            dims.insert(name);
            if (token.find('*') != std::string::npos) factors.insert(name);
        }
    }
}

WeightTypes::WeightTypes(const lamina_layer &layer) {
    for (const DType dtype : weight_dtypes(layer)) (storage_of(dtype).in_blocks() ? blocks_ : values_).push_back(dtype);
}

DType WeightTypes::of_case(size_t number) const {
    const size_t turn = number % turns();
    return turn < values_.size() ? values_[turn] : blocks_[number / turns() % blocks_.size()];
}

} // namespace lamina::conformance
