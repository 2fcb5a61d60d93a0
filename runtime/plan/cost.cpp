#include "plan/cost.hpp"

#include "abi/work.hpp"

#include <algorithm>

namespace lamina::plan {
namespace {

using abi::PortList;

// Whether the first axis of the table's dims is the limit of the input's values, as with "V C" and "0 V".
bool looks_up(const lamina_port &input, const lamina_port &table) {
    const std::string_view dims = table.dims;
    return input.values != nullptr && "0 " + std::string(dims.substr(0, dims.find(' '))) == input.values;
}

// How many indices into the rows of a table the call has.
std::optional<int64_t> lookups(const abi::LayerCall &call, const lamina_port &table) {
    const auto inputs = abi::ports_of(*call.layer().contract, PortList::in).ports;
    for (uint32_t i = 0; i < inputs.size(); ++i)
        if (looks_up(inputs[i], table) && !call.types(PortList::in)[i].shape.empty())
            return element_count(call.types(PortList::in)[i].shape);
    return std::nullopt;
}

double bytes_of(const abi::LayerCall &call, PortList list) {
    const auto ports = abi::ports_of(*call.layer().contract, list).ports;
    double sum = 0;
    for (uint32_t i = 0; i < ports.size(); ++i) {
        const TensorType &type = call.types(list)[i];
        if (type.shape.empty() || call.bound(list)[i] != i) continue;
        double bytes = static_cast<double>(type.bytes());
        if (const auto rows = list == PortList::weight ? lookups(call, ports[i]) : std::nullopt)
            bytes *= std::min(1.0, static_cast<double>(*rows) / static_cast<double>(type.shape.front()));
        sum += bytes;
    }
    return sum;
}

} // namespace

bool looks_up(const lamina_layer &contract, const lamina_port &input) {
    const auto weights = abi::ports_of(contract, PortList::weight).ports;
    return std::any_of(weights.begin(), weights.end(),
                       [&](const lamina_port &table) { return looks_up(input, table); });
}

Cost cost_of(const abi::LayerCall &call) {
    Cost out = cost_without_states(call);
    out.bytes += bytes_of(call, PortList::state);
    out.operations = abi::operations_of(call).value_or(0);
    return out;
}

Cost cost_without_states(const abi::LayerCall &call) {
    Cost out;
    for (const PortList list : {PortList::in, PortList::weight, PortList::out}) out.bytes += bytes_of(call, list);
    if (bytes_of(call, PortList::state) == 0) out.operations = abi::operations_of(call).value_or(0);
    return out;
}

} // namespace lamina::plan
