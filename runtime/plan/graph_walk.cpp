#include "plan/graph_walk.hpp"

#include "abi/pattern.hpp"
#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "model/place.hpp"

#include <algorithm>
#include <span>

namespace lamina::plan {

using Kind = PlannedTensor::Kind;

namespace {

void refuse_unknown_weights(const model::Node &node, const lamina_layer &contract, const std::string &where) {
    std::vector<std::string> names;
    for (const lamina_port &port : std::span(contract.weights, contract.n_weights)) names.emplace_back(port.name);
    for (const auto &[name, tensor] : node.weights)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error(ErrorCode::input,
                        where + ": " + contract.id + " has no weight '" + name + "'" + instead_of(name, names));
}

// The tensor that is bound to each port, or none.
std::vector<int32_t> bound_tensors(const abi::OpenCall &call, abi::PortList list, const GraphWalk::Indices &given) {
    const auto ports = abi::ports_of(*call.layer().contract, list).ports;
    std::vector<int32_t> out;
    for (const uint32_t bound : call.bound(list)) {
        const auto tensor = given.find(ports[bound].name);
        out.push_back(tensor == given.end() ? none : tensor->second);
    }
    return out;
}

} // namespace

GraphWalk::GraphWalk(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                     abi::Solver &solver, const Inputs &inputs, abi::HostStates states)
    : model_(model), graph_(graph), plugins_(plugins), solver_(solver), states_(std::move(states)) {
    take_inputs(inputs);
}

int32_t GraphWalk::add(std::string name, abi::OpenType type, Kind kind) {
    tensors_.push_back({std::move(name), std::move(type), kind});
    return static_cast<int32_t>(tensors_.size() - 1);
}

// Throws for "NODE.PORT" if the node has no such port. (The model's reader does not know the ports.)
int32_t GraphWalk::index_of(const std::string &tensor, const std::string &where) const {
    const auto found = index_.find(tensor);
    if (found != index_.end()) return found->second;
    throw Error(ErrorCode::input, where + ": no tensor '" + tensor + "'" + instead_of(tensor, names_of(index_)));
}

void GraphWalk::take_inputs(const Inputs &given) {
    const std::string where = "graph '" + graph_.name + "' of " + model_.folder.string();
    abi::Dims dims(solver_);
    std::vector<std::string> names;
    for (const model::GraphInput &input : graph_.inputs) names.push_back(input.name);
    for (const auto &[name, type] : given)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error(ErrorCode::input, where + " has no input '" + name + "'" + instead_of(name, names));
    for (const model::GraphInput &input : graph_.inputs) {
        const std::string place = where + ": input '" + input.name + "'";
        const auto found = given.find(input.name);
        if (found == given.end())
            throw Error(ErrorCode::input,
                        place + " is missing: expected " + name_of(input.dtype) + " of shape (" + input.dims + ")");
        const abi::OpenType &type = found->second;
        if (type.dtype != input.dtype)
            throw Error(ErrorCode::input,
                        place + ": expected " + name_of(input.dtype) + ", found " + name_of(type.dtype));
        abi::located([&] { return place; }, [&] { dims.unify(input.dims, type.shape); });
        inputs_[input.name] = index_[input.name] = add(input.name, type, Kind::input);
    }
}

std::optional<WalkedStep> GraphWalk::next() {
    if (done_ == graph_.nodes.size()) return std::nullopt;
    const model::Node &node = graph_.nodes[done_++];
    const std::string where = place_of(model_, node);
    const abi::Layer &layer = layer_of(node, where);
    const lamina_layer &contract = *layer.contract;

    Indices in;
    for (const auto &[port, tensor] : node.inputs) {
        if (port.empty() && contract.n_inputs == 0) continue; // an input-less layer ignores the layer before it
        const std::string name = port.empty() ? contract.inputs[0].name : port;
        in[name] = index_of(tensor, where + ": input '" + name + "'");
    }
    const Indices weights = take_weights(node, contract, where);
    abi::OpenTypes types;
    types.host_states = states_;
    for (const auto &[name, tensor] : in) types.in[name] = tensors_[static_cast<size_t>(tensor)].type;
    for (const auto &[name, tensor] : weights) types.weight[name] = tensors_[static_cast<size_t>(tensor)].type;

    WalkedStep step{node.name, abi::OpenCall(layer, node.params, types, solver_, where), {}, {}, {}, {}};
    step.in = bound_tensors(step.call, abi::PortList::in, in);
    step.weight = bound_tensors(step.call, abi::PortList::weight, weights);
    expect_values_of_inputs(step);
    for (uint32_t i = 0; i < contract.n_outputs; ++i) {
        const std::string name = i == 0 ? node.name : node.name + "." + contract.outputs[i].name;
        step.out.push_back(index_[name] = add(name, step.call.types(abi::PortList::out)[i], Kind::activation));
        tensors_.back().range = step.call.range(abi::PortList::out, i);
    }
    for (uint32_t i = 0; i < contract.n_states; ++i) {
        const abi::OpenType &type = step.call.types(abi::PortList::state)[i];
        const std::string name = model_.states + node.name + "." + contract.states[i].name;
        step.state.push_back(type.shape.empty() ? none : add(name, type, Kind::state));
    }
    return step;
}

const abi::Layer &GraphWalk::layer_of(const model::Node &node, const std::string &where) const {
    try {
        const abi::Layer &layer = plugins_.layer(node.type);
        if (layer.pattern != nullptr)
            throw Error(ErrorCode::input, "'" + node.type + "' is a fusion of " +
                                              joined(abi::types_of_members(*layer.pattern)) +
                                              ", and runs in their place: write these layers instead");
        return layer;
    } catch (const Error &e) {
        throw Error(e.code(), where + ": " + e.what());
    }
}

GraphWalk::Indices GraphWalk::take_weights(const model::Node &node, const lamina_layer &contract,
                                           const std::string &where) {
    Indices out;
    refuse_unknown_weights(node, contract, where);
    for (uint32_t i = 0; i < contract.n_weights; ++i)
        if (const auto tensor = take_weight(node, contract.weights[i], where)) out[contract.weights[i].name] = *tensor;
    return out;
}

// none: the weight is left out.
std::optional<int32_t> GraphWalk::take_weight(const model::Node &node, const lamina_port &port,
                                              const std::string &where) {
    const std::string name = weight_name(node, port.name);
    if (const auto known = weights_.find(name); known != weights_.end()) return known->second;
    const auto &entries = model_.weights.entries();
    if (const auto entry = entries.find(name); entry != entries.end())
        return weights_[name] = add(name, abi::OpenType(entry->second.type), Kind::weight);
    const std::string place = where + ": weight '" + port.name + "'";
    if (const auto other = model_.weights.others().find(name); other != model_.weights.others().end())
        throw Error(ErrorCode::input, place + ": " + model_.weights.file().string() + ": tensor '" + name + "' is " +
                                          other->second.dtype + "; expected " + plugin::dtype_names(port.dtypes));
    if (node.weights.contains(port.name)) throw Error(ErrorCode::input, place + ": " + no_tensor(name));
    if ((port.flags & LAMINA_OPTIONAL) != 0 || port.follows != nullptr) return std::nullopt;
    throw Error(ErrorCode::input, place + " is missing (" + port.dims + ": " + port.summary + "): " + no_tensor(name));
}

// Why a weight is missing: perhaps the whole file is.
std::string GraphWalk::no_tensor(const std::string &name) const {
    const std::filesystem::path &file = model_.weights.file();
    if (file.empty()) return (model_.folder / "model.safetensors").string() + " does not exist";
    return file.string() + " holds no tensor '" + name + "'";
}

// Kernels index with such values. Those of the graph's inputs are checked before every run, and a layer that computes
// them is proved to keep the range that its contract declares.
void GraphWalk::expect_values_of_inputs(const WalkedStep &step) const {
    const auto at_most = [&](const abi::Size &a, const abi::Size &b) {
        const abi::Size left = solver_.resolve(a), right = solver_.resolve(b);
        return left == right || (left.is_known() && right.is_known() && left.number() <= right.number());
    };
    const auto text = [&](const abi::OpenCall::Range &range) {
        return "from " + solver_.text(range.first) + " to " + solver_.text(range.second - 1);
    };
    for (uint32_t i = 0; i < step.in.size(); ++i) {
        const auto &wanted = step.call.range(abi::PortList::in, i);
        if (step.in[i] == none || !wanted) continue;
        const WalkedTensor &tensor = tensors_[static_cast<size_t>(step.in[i])];
        if (tensor.kind == Kind::input) continue;
        if (tensor.range && at_most(wanted->first, tensor.range->first) &&
            at_most(tensor.range->second, wanted->second))
            continue;
        throw Error(ErrorCode::input, step.call.place(abi::PortList::in, i) + ": expected values " + text(*wanted) +
                                          ", found '" + tensor.name + "', which a layer computes, with " +
                                          (tensor.range ? "values " + text(*tensor.range)
                                                        : std::string("no range of values in its contract")));
    }
}

GraphWalk::Indices GraphWalk::outputs() const {
    const std::string where = "/graphs/" + graph_.name + "/outputs/";
    Indices out;
    for (const auto &[name, tensor] : graph_.outputs)
        out[name] = index_of(tensor, model::place_in(model_, where + name));
    return out;
}

namespace {

// The shapes of the encoder's outputs, by name; empty for a graph that is not a decoder.
std::map<std::string, abi::OpenShape> encoded_shapes(const model::Model &model, const model::Graph &graph,
                                                     const abi::Registry &plugins) {
    const auto &g = model.generation;
    if (!g || g->encode.empty() || graph.name != g->decode) return {};
    const model::Graph &encode = model.graphs.at(g->encode);
    std::map<std::string, abi::OpenShape> out;
    try {
        abi::Solver solver;
        GraphWalk walk(model, encode, plugins, solver, open_inputs(model, encode, plugins, solver));
        while (walk.next()) {
        }
        for (const auto &[name, tensor] : walk.outputs())
            for (const abi::Size &size : walk.tensors()[static_cast<size_t>(tensor)].type.shape)
                out[name].push_back(solver.resolve(size));
    } catch (const Error &) {
        out.clear(); // checking the encoder reports the error
    }
    return out;
}

} // namespace

GraphWalk::Inputs open_inputs(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                              abi::Solver &solver) {
    const auto encoded = encoded_shapes(model, graph, plugins);
    abi::Dims dims(solver);
    GraphWalk::Inputs out;
    for (const model::GraphInput &input : graph.inputs) {
        for (const std::string &name : abi::names_in(input.dims))
            if (!dims.names().contains(name)) dims.set(name, solver.open(name));
        abi::OpenShape shape = dims.instantiate(input.dims);
        if (const auto given = encoded.find(input.name); given != encoded.end() && given->second.size() == shape.size())
            for (size_t axis = 0; axis < shape.size(); ++axis)
                if (given->second[axis].is_known()) shape[axis] = given->second[axis];
        out[input.name] = {input.dtype, std::move(shape)};
    }
    return out;
}

} // namespace lamina::plan
