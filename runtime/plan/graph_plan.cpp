#include "plan/graph_plan.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <set>

namespace lamina::plan {

std::string place_of(const model::Model &model, const model::Node &node) {
    return (model.folder / "model.json").string() + ": " + node.place + ": layer '" + node.name + "'";
}

std::string weight_name(const model::Node &node, const char *port) {
    const auto mapped = node.weights.find(port);
    return mapped != node.weights.end() ? mapped->second : node.name + "." + port;
}

namespace {

class Planner {
  public:
    Planner(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
            const GraphShapes &shapes)
        : model_(model), graph_(graph), plugins_(plugins), shapes_(shapes) {
        plan_.graph = graph.name;
    }

    GraphPlan run() {
        add_inputs();
        for (const model::Node &node : graph_.nodes) add_step(node);
        const std::string where = (model_.folder / "model.json").string() + ": /graphs/" + graph_.name + "/outputs/";
        for (const auto &[name, tensor] : graph_.outputs) {
            const int32_t index = index_of(tensor, where + name);
            plan_.outputs[name] = index;
            plan_.tensors[static_cast<size_t>(index)].output = true;
        }
        return std::move(plan_);
    }

  private:
    int32_t add(std::string name, TensorType type, PlannedTensor::Kind kind) {
        const auto index = static_cast<int32_t>(plan_.tensors.size());
        plan_.tensors.push_back({std::move(name), std::move(type), kind, false});
        return index;
    }

    // Throws for "NODE.PORT" of a port that the node does not have: the model alone cannot tell.
    [[nodiscard]] int32_t index_of(const std::string &tensor, const std::string &where) const {
        const auto found = index_.find(tensor);
        if (found != index_.end()) return found->second;
        throw Error(ErrorCode::input, where + ": no tensor '" + tensor + "'" + did_you_mean(tensor, names_of(index_)));
    }

    void add_inputs() {
        const std::string where = "graph '" + graph_.name + "' of " + model_.folder.string();
        abi::Dims dims;
        for (const model::GraphInput &input : graph_.inputs) {
            const auto given = shapes_.inputs.find(input.name);
            const std::string place = where + ": input '" + input.name + "'";
            if (given == shapes_.inputs.end())
                throw Error(ErrorCode::input,
                            place + " is missing: expected " + name_of(input.dtype) + " of shape (" + input.dims + ")");
            if (given->second.dtype != input.dtype)
                throw Error(ErrorCode::input,
                            place + ": expected " + name_of(input.dtype) + ", found " + name_of(given->second.dtype));
            abi::unify(input.dims, given->second.shape, dims, place);
            plan_.inputs[input.name] = index_[input.name] = add(input.name, given->second, PlannedTensor::Kind::input);
        }
        for (const auto &[name, type] : shapes_.inputs)
            if (!plan_.inputs.contains(name)) {
                std::vector<std::string> names;
                for (const auto &input : graph_.inputs) names.push_back(input.name);

                throw Error(ErrorCode::input, where + " has no input '" + name + "'" + did_you_mean(name, names));
            }
    }

    void add_step(const model::Node &node) {
        const std::string where = place_of(model_, node);
        const abi::Layer &layer = layer_of(node, where);
        const lamina_layer &contract = *layer.contract;

        abi::CallTypes types;
        std::map<std::string, int32_t, std::less<>> inputs;
        for (const auto &[port, tensor] : node.inputs) {
            const std::string name = port.empty() ? contract.inputs[0].name : port;
            inputs[name] = index_of(tensor, where + ": input '" + name + "'");
            types.in[name] = type_of(inputs[name]);
        }
        std::map<std::string, int32_t, std::less<>> weights;
        for (uint32_t i = 0; i < contract.n_weights; ++i) take_weight(node, contract.weights[i], where, weights, types);
        refuse_unknown_weights(node, contract, where);

        abi::LayerCall call(layer, node.params, types, where);
        if (shapes_.state_length > 0 && contract.n_states > 0) {
            abi::Dims dims = call.dims();
            dims.values["M"] = shapes_.state_length;
            for (const lamina_port *state = contract.states; state != contract.states + contract.n_states; ++state)
                if (state->follows == nullptr || types.in.contains(state->follows))
                    types.state[state->name] = {state_dtype(*state), abi::instantiate(state->dims, dims, where)};
            call = abi::LayerCall(layer, node.params, types, where);
        }
        finish(node, std::move(call), inputs, weights);
    }

    [[nodiscard]] DType state_dtype(const lamina_port &state) const {
        return (state.dtypes & static_cast<uint32_t>(shapes_.state_dtype)) != 0 ? shapes_.state_dtype : DType::f32;
    }

    const abi::Layer &layer_of(const model::Node &node, const std::string &where) const {
        try {
            return plugins_.layer(node.type);
        } catch (const Error &e) {
            throw Error(e.code(), where + ": " + e.what());
        }
    }

    void take_weight(const model::Node &node, const lamina_port &declared, const std::string &where,
                     std::map<std::string, int32_t, std::less<>> &weights, abi::CallTypes &types) {
        const char *port = declared.name;
        const std::string name = weight_name(node, port);
        const auto entry = model_.weights.entries().find(name);
        if (entry == model_.weights.entries().end()) {
            if (const auto other = model_.weights.others().find(name); other != model_.weights.others().end())
                throw Error(ErrorCode::input, where + ": weight '" + port + "': " + model_.weights.file().string() +
                                                  ": tensor '" + name + "' is " + other->second + "; expected " +
                                                  plugin::dtype_names(declared.dtypes));
            if (node.weights.contains(port))
                throw Error(ErrorCode::input, where + ": weight '" + port + "': " + no_tensor(name));
            if ((declared.flags & LAMINA_OPTIONAL) != 0 || declared.follows != nullptr) return;
            throw Error(ErrorCode::input, where + ": weight '" + port + "' is missing (" + declared.dims + ": " +
                                              declared.summary + "): " + no_tensor(name));
        }
        const auto known = weight_index_.find(name);
        const int32_t index =
            known != weight_index_.end() ? known->second : add(name, entry->second.type, PlannedTensor::Kind::weight);
        weight_index_[name] = weights[port] = index;
        types.weight[port] = type_of(index);
    }

    // Why there is no such tensor: a file that was forgotten looks like a weight that is.
    [[nodiscard]] std::string no_tensor(const std::string &name) const {
        const std::filesystem::path &file = model_.weights.file();
        if (file.empty()) return (model_.folder / "model.safetensors").string() + " does not exist";
        return file.string() + " holds no tensor '" + name + "'";
    }

    static void refuse_unknown_weights(const model::Node &node, const lamina_layer &contract,
                                       const std::string &where) {
        for (const auto &weight : node.weights)
            if (std::none_of(contract.weights, contract.weights + contract.n_weights,
                             [&](const lamina_port &p) { return weight.first == p.name; }))
                throw Error(ErrorCode::input, where + ": " + contract.id + " has no weight '" + weight.first + "'");
    }

    void finish(const model::Node &node, abi::LayerCall call, const std::map<std::string, int32_t, std::less<>> &inputs,
                const std::map<std::string, int32_t, std::less<>> &weights) {
        const lamina_layer &contract = *call.layer().contract;
        const auto indices = [&](const lamina_port *ports, uint32_t n, const auto &given, abi::PortList list) {
            std::vector<int32_t> out;
            for (uint32_t i = 0; i < n; ++i) {
                const auto it = given.find(ports[call.bound(list)[i]].name);
                out.push_back(it == given.end() ? none : it->second);
            }
            return out;
        };
        std::vector<int32_t> in = indices(contract.inputs, contract.n_inputs, inputs, abi::PortList::in);
        for (uint32_t i = 0; i < contract.n_inputs; ++i)
            if (in[i] != none && call.values(i) && tensor_of(in[i]).kind != PlannedTensor::Kind::input)
                throw Error(ErrorCode::input,
                            call.where() + ": input '" + contract.inputs[i].name +
                                "': expected an input of the graph, whose values are checked before a "
                                "kernel indexes with them; found '" +
                                tensor_of(in[i]).name + "', which a layer computes");
        std::vector<int32_t> weight = indices(contract.weights, contract.n_weights, weights, abi::PortList::weight);
        std::vector<int32_t> out, state;
        for (uint32_t i = 0; i < contract.n_outputs; ++i) {
            const std::string name = i == 0 ? node.name : node.name + "." + contract.outputs[i].name;
            out.push_back(index_[name] = add(name, call.types(abi::PortList::out)[i], PlannedTensor::Kind::activation));
        }
        for (uint32_t i = 0; i < contract.n_states; ++i) {
            const TensorType &type = call.types(abi::PortList::state)[i];
            state.push_back(type.shape.empty()
                                ? none
                                : add(node.name + "." + contract.states[i].name, type, PlannedTensor::Kind::state));
        }
        plan_.steps.push_back(
            {node.name, std::move(call), std::move(in), std::move(weight), std::move(out), std::move(state)});
    }

    [[nodiscard]] const PlannedTensor &tensor_of(int32_t tensor) const {
        return plan_.tensors[static_cast<size_t>(tensor)];
    }
    [[nodiscard]] const TensorType &type_of(int32_t tensor) const { return tensor_of(tensor).type; }

    const model::Model &model_;
    const model::Graph &graph_;
    const abi::Registry &plugins_;
    const GraphShapes &shapes_;
    GraphPlan plan_;
    std::map<std::string, int32_t, std::less<>> index_, weight_index_; // activations and inputs; weights
};

} // namespace

int32_t GraphPlan::tensor(std::string_view name) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].name == name) return static_cast<int32_t>(i);
        names.push_back(tensors[i].name);
    }

    throw Error(ErrorCode::input,
                "graph '" + graph + "' has no tensor '" + std::string(name) + "'" + did_you_mean(name, names));
}

GraphPlan plan_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                     const GraphShapes &shapes) {
    return Planner(model, graph, plugins, shapes).run();
}

GraphPlan isolate(const GraphPlan &plan, size_t step) {
    GraphPlan out;
    out.graph = plan.graph + "/" + plan.steps[step].name;
    Step alone = plan.steps[step];
    std::map<int32_t, int32_t> moved;
    for (auto *list : {&alone.in, &alone.weight, &alone.out, &alone.state})
        for (int32_t &t : *list) {
            if (t == none) continue;
            const auto [it, fresh] = moved.try_emplace(t, static_cast<int32_t>(out.tensors.size()));
            if (fresh) out.tensors.push_back(plan.tensors[static_cast<size_t>(t)]);
            t = it->second;
        }
    for (const int32_t t : alone.in)
        if (t != none) out.tensors[static_cast<size_t>(t)].kind = PlannedTensor::Kind::input;
    for (const int32_t t : alone.out) out.tensors[static_cast<size_t>(t)].output = true;
    for (const auto &list : {alone.in, alone.out})
        for (const int32_t t : list) {
            if (t == none) continue;
            const PlannedTensor &tensor = out.tensors[static_cast<size_t>(t)];
            (tensor.kind == PlannedTensor::Kind::input ? out.inputs : out.outputs)[tensor.name] = t;
        }
    out.steps.push_back(std::move(alone));
    return out;
}

std::vector<std::string> unused_weights(const model::Model &model, const abi::Registry &plugins) {
    std::set<std::string, std::less<>> used;
    for (const auto &[name, graph] : model.graphs)
        for (const model::Node &node : graph.nodes) {
            const lamina_layer &contract = *plugins.layer(node.type).contract;
            for (uint32_t i = 0; i < contract.n_weights; ++i) used.insert(weight_name(node, contract.weights[i].name));
        }
    std::vector<std::string> out;
    for (const auto &[name, entry] : model.weights.entries())
        if (!used.contains(name)) out.push_back(name);
    return out;
}

} // namespace lamina::plan
