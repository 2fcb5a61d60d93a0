#include "abi/open_call.hpp"

#include "abi/contract.hpp"
#include "base/nearest.hpp"

#include <algorithm>
#include <functional>

namespace lamina::abi {
namespace {

bool is_empty(const Size &size) { return size.is_known() && size.constant().top < 1; }

} // namespace

TensorType OpenType::known(const Solver &solver) const {
    TensorType out{dtype, {}};
    int64_t bytes = storage_of(dtype).block_bytes; // an upper bound for a value
    for (const Size &open : shape) {
        const Size size = solver.resolve(open);
        if (!size.is_known())
            throw Error(ErrorCode::plugin,
                        "expected a contract that determines all sizes, found " + solver.text(shape));
        out.shape.push_back(size.number().value_or(0));
        if (out.shape.back() < 1 || __builtin_mul_overflow(bytes, out.shape.back(), &bytes))
            throw Error(ErrorCode::input,
                        "expected sizes of at least 1 whose product fits in 64 bits, found " + solver.text(shape));
    }
    return out;
}

Ports ports_of(const lamina_layer &layer, PortList list) {
    switch (list) {
    case PortList::in:
        return {{layer.inputs, layer.n_inputs}, "input"};
    case PortList::weight:
        return {{layer.weights, layer.n_weights}, "weight"};
    case PortList::out:
        return {{layer.outputs, layer.n_outputs}, "output"};
    case PortList::state:
        return {{layer.states, layer.n_states}, "state"};
    }
    throw std::logic_error("unknown list of ports");
}

OpenCall::OpenCall(const Layer &layer, const Params &params, const OpenTypes &types, Solver &solver, std::string where)
    : layer_(&layer), where_(std::move(where)), params_(resolve_params(*layer.contract, params, where_)),
      dims_(solver) {
    const lamina_layer &contract = *layer.contract;
    for (uint32_t i = 0; i < contract.n_params; ++i)
        if (contract.params[i].kind == LAMINA_INT) dims_.set(contract.params[i].name, static_cast<int64_t>(params_[i]));
    resolve(PortList::in, types.in, solver);
    resolve(PortList::weight, types.weight, solver);
    if (!types.host_states.capacity) resolve(PortList::state, types.state, solver);
    for (const PortList list : {PortList::in, PortList::weight, PortList::state}) unify(list);
    if (types.host_states.capacity) infer_states(types);
    for (uint32_t i = 0; i < contract.n_outputs; ++i) infer(PortList::out, i, DType::f32);
    for (const PortList list : port_lists) infer_ranges(list);
}

std::string OpenCall::place(PortList list, uint32_t port) const {
    const Ports all = ports_of(*layer_->contract, list);
    return where_ + ": " + all.noun + " '" + all.ports[port].name + "'";
}

void OpenCall::resolve(PortList which, const std::map<std::string, OpenType, std::less<>> &given,
                       const Solver &solver) {
    const auto [ports, noun] = ports_of(*layer_->contract, which);
    List &list = lists_[static_cast<size_t>(which)];
    std::vector<std::string> names;
    for (const lamina_port &port : ports) names.emplace_back(port.name);
    for (const auto &[name, type] : given)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error(ErrorCode::input, where_ + ": " + layer_->contract->id + " has no " + noun + " '" + name + "'" +
                                              instead_of(name, names));
    for (uint32_t i = 0; i < ports.size(); ++i) {
        const lamina_port &port = ports[i];
        if (const auto it = given.find(port.name); it != given.end()) {
            const auto &[dtype, shape] = it->second;
            if ((port.dtypes & static_cast<uint32_t>(dtype)) == 0)
                throw Error(ErrorCode::input, place(which, i) + ": expected " + plugin::dtype_names(port.dtypes) +
                                                  ", found " + name_of(dtype));
            if (shape.empty() || shape.size() > LAMINA_MAX_RANK || std::any_of(shape.begin(), shape.end(), is_empty))
                throw Error(ErrorCode::input, place(which, i) +
                                                  ": expected a tensor of 1 to 8 axes, none empty, found shape " +
                                                  solver.text(shape));
            const int64_t block = storage_of(dtype).block_values;
            if (const Size &row = shape.back(); row.is_known() && row.number().value_or(0) % block != 0)
                throw Error(ErrorCode::input, place(which, i) + ": " + name_of(dtype) + " stores blocks of " +
                                                  std::to_string(block) +
                                                  " values; expected a last axis that is a multiple of this, found " +
                                                  solver.text(shape));
            list.types.push_back(it->second);
            list.bound.push_back(i);
        } else if (port.follows != nullptr && which != PortList::state) {
            const uint32_t earlier = place_of_name(ports.data(), i, port.follows);
            list.types.push_back(list.types[earlier]);
            list.bound.push_back(list.bound[earlier]);
        } else if ((port.flags & LAMINA_OPTIONAL) != 0 || which == PortList::state) {
            list.types.emplace_back();
            list.bound.push_back(i);
        } else {
            throw Error(ErrorCode::input, place(which, i) + " is missing (" + port.dims + ": " + port.summary + ")");
        }
    }
}

void OpenCall::unify(PortList which) {
    const bool batch_first = is_batch_first(*layer_->contract, params_);
    const auto ports = ports_of(*layer_->contract, which).ports;
    for (uint32_t i = 0; i < types(which).size(); ++i)
        if (const OpenShape &shape = types(which)[i].shape; !shape.empty())
            located([&] { return place(which, i); },
                    [&] { dims_.unify(ports[i].dims, reordered(shape, ports[i], batch_first)); });
}

void OpenCall::infer(PortList which, uint32_t i, DType wanted) {
    const lamina_port &port = ports_of(*layer_->contract, which).ports[i];
    OpenShape shape = located([&] { return place(which, i); }, [&] { return dims_.instantiate(port.dims); });
    if (shape.empty() || shape.size() > LAMINA_MAX_RANK)
        throw Error(ErrorCode::input,
                    place(which, i) + ": expected a tensor of 1 to 8 axes, found " + std::to_string(shape.size()));
    List &list = lists_[static_cast<size_t>(which)];
    const bool possible = (port.dtypes & static_cast<uint32_t>(wanted)) != 0;
    list.types.emplace_back(port.dtypes == LAMINA_I32 ? DType::i32
                            : possible                ? wanted
                                                      : DType::f32,
                            reordered(std::move(shape), port, is_batch_first(*layer_->contract, params_)));
    list.bound.push_back(i);
}

// All states except those that belong to inputs of which one was left out.
void OpenCall::infer_states(const OpenTypes &types) {
    const auto states = ports_of(*layer_->contract, PortList::state).ports;
    List &list = lists_[static_cast<size_t>(PortList::state)];
    const auto is_given = [&](const std::string &input) { return types.in.contains(input); };
    for (uint32_t i = 0; i < states.size(); ++i) {
        if (states[i].capacity != nullptr) dims_.set(states[i].capacity, *types.host_states.capacity);
        if (states[i].follows == nullptr || std::ranges::all_of(names_in(states[i].follows), is_given)) {
            infer(PortList::state, i, types.host_states.dtype);
        } else {
            list.types.emplace_back();
            list.bound.push_back(i);
        }
    }
}

void OpenCall::infer_ranges(PortList which) {
    const auto ports = ports_of(*layer_->contract, which).ports;
    List &list = lists_[static_cast<size_t>(which)];
    for (uint32_t i = 0; i < ports.size(); ++i) {
        list.ranges.emplace_back();
        if (ports[i].values == nullptr || list.types[i].shape.empty()) continue;
        const std::string_view text = ports[i].values; // "LO HI"
        const auto at = [&] { return place(which, i); };
        const auto low = located(at, [&] { return dims_.evaluate(text.substr(0, text.find(' '))); });
        const auto high = located(at, [&] { return dims_.evaluate(text.substr(text.rfind(' ') + 1)); });
        if (!low || !high)
            throw Error(ErrorCode::plugin,
                        at() + ": the contract's values \"" + std::string(text) + "\" contain an unknown name");
        list.ranges.back() = {*low, *high};
    }
}

} // namespace lamina::abi
