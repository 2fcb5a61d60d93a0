#include "plan/graph_plan.hpp"

#include "base/nearest.hpp"
#include "model/place.hpp"
#include "plan/candidates.hpp"
#include "plan/graph_walk.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace lamina::plan {

std::string place_of(const model::Model &model, const model::Node &node) {
    return model::place_in(model, node.place) + ": layer '" + node.name + "'";
}

std::string weight_name(const model::Node &node, const char *port) {
    const auto mapped = node.weights.find(port);
    return mapped != node.weights.end() ? mapped->second : node.name + "." + port;
}

TensorType GraphPlan::whole(const PlannedTensor &state) const {
    TensorType out = state.type;
    if (!out.shape.empty()) out.shape.front() = std::max(out.shape.front(), sequences);
    return out;
}

int32_t GraphPlan::tensor(std::string_view name) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].name == name) return static_cast<int32_t>(i);
        names.push_back(tensors[i].name);
    }

    throw Error(ErrorCode::input,
                "graph '" + graph + "' has no tensor '" + std::string(name) + "'" + instead_of(name, names));
}

namespace {

// Some steps of a plan, with the tensors that they use.
class Excerpt {
  public:
    Excerpt(const GraphPlan &plan, std::string name, size_t steps) : from_(plan) {
        out_.graph = std::move(name);
        out_.steps.reserve(steps);
    }

    int32_t tensor(int32_t t) {
        const auto [it, fresh] = moved_.try_emplace(t, static_cast<int32_t>(out_.tensors.size()));
        if (fresh) out_.tensors.push_back(from_.tensors[static_cast<size_t>(t)]), tensors_.push_back(t);
        return it->second;
    }
    void step(Step step) {
        for (auto *list : {&step.in, &step.weight, &step.out, &step.state})
            for (int32_t &t : *list)
                if (t != none) t = tensor(t);
        out_.steps.push_back(std::move(step));
    }
    [[nodiscard]] GraphPlan take() { return std::move(out_); }
    [[nodiscard]] const std::vector<int32_t> &tensors() const { return tensors_; } // of the plan, by tensor of this one

  private:
    const GraphPlan &from_;
    GraphPlan out_;
    std::vector<int32_t> tensors_;
    std::map<int32_t, int32_t> moved_;
};

// The steps that have states, and those that they depend on.
GraphPlan only_states(GraphPlan plan) {
    std::vector<bool> needed(plan.tensors.size()), kept(plan.steps.size());
    const auto is_needed = [&](int32_t t) { return needed[static_cast<size_t>(t)]; };
    const auto is_there = [](int32_t t) { return t != none; };
    for (size_t s = plan.steps.size(); s-- > 0;) {
        const Step &step = plan.steps[s];
        kept[s] = std::ranges::any_of(step.state, is_there) || std::ranges::any_of(step.out, is_needed);
        for (const int32_t t : step.in)
            if (kept[s] && t != none) needed[static_cast<size_t>(t)] = true;
    }
    std::vector<Step> steps;
    for (size_t s = 0; s < plan.steps.size(); ++s)
        if (kept[s]) steps.push_back(std::move(plan.steps[s]));
    plan.outputs.clear();
    GraphPlan states = with_steps(plan, std::move(steps));
    for (PlannedTensor &tensor : states.tensors) tensor.output = false;
    return states;
}

} // namespace

GraphPlan plan_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                     const GraphShapes &shapes) {
    abi::Solver solver;
    GraphWalk::Inputs inputs;
    for (const auto &[name, type] : shapes.inputs) inputs[name] = abi::OpenType(type);
    std::optional<abi::Size> capacity;
    if (shapes.state_length > 0) capacity = shapes.state_length;
    GraphWalk walk(model, graph, plugins, solver, inputs, {capacity, shapes.state_dtype});
    GraphPlan plan;
    plan.graph = graph.name;
    plan.sequences = shapes.sequences;
    plan.steps.reserve(graph.nodes.size());
    while (auto step = walk.next()) {
        plan.steps.push_back({std::move(step->name), abi::LayerCall(step->call, solver), std::move(step->in),
                              std::move(step->weight), std::move(step->out), std::move(step->state)});
        plan.steps.back().call.check();
    }
    plan.tensors.reserve(walk.tensors().size());
    for (const WalkedTensor &tensor : walk.tensors())
        plan.tensors.push_back({tensor.name, tensor.type.known(solver), tensor.kind, false});
    plan.inputs = walk.inputs();
    plan.outputs = walk.outputs();
    for (const auto &[name, tensor] : plan.outputs) plan.tensors[static_cast<size_t>(tensor)].output = true;
    if (shapes.states_only) return only_states(std::move(plan));
    if (shapes.candidates) append_candidates(plan, plugins, *shapes.candidates);
    return plan;
}

GraphPlan isolate(const GraphPlan &plan, size_t step) {
    Excerpt excerpt(plan, plan.graph + "/" + plan.steps[step].name, 1);
    excerpt.step(plan.steps[step]);
    GraphPlan out = excerpt.take();
    const Step &alone = out.steps.front();
    for (const int32_t t : alone.in)
        if (t != none) out.tensors[static_cast<size_t>(t)].kind = PlannedTensor::Kind::input;
    for (const int32_t t : alone.out) out.tensors[static_cast<size_t>(t)].output = true;
    for (const auto &list : {alone.in, alone.out})
        for (const int32_t t : list) {
            if (t == none) continue;
            const PlannedTensor &tensor = out.tensors[static_cast<size_t>(t)];
            (tensor.kind == PlannedTensor::Kind::input ? out.inputs : out.outputs)[tensor.name] = t;
        }
    return out;
}

GraphPlan with_steps(const GraphPlan &plan, std::vector<Step> steps) {
    Excerpt excerpt(plan, plan.graph, steps.size());
    std::map<std::string, int32_t, std::less<>> inputs, outputs;
    for (const auto &[name, t] : plan.inputs) inputs[name] = excerpt.tensor(t);
    for (Step &step : steps) excerpt.step(std::move(step));
    for (const auto &[name, t] : plan.outputs) outputs[name] = excerpt.tensor(t);
    GraphPlan out = excerpt.take();
    out.inputs = std::move(inputs), out.outputs = std::move(outputs);
    out.sequences = plan.sequences;
    return out;
}

Section section(const GraphPlan &plan, size_t first, size_t last) {
    std::vector<size_t> steps(last - first);
    std::iota(steps.begin(), steps.end(), first);
    return section(plan, steps);
}

Section section(const GraphPlan &plan, std::span<const size_t> steps) {
    std::vector<bool> made(plan.tensors.size()), taken(plan.tensors.size()); // taken: by others
    const auto mark = [](std::vector<bool> &marks, const std::vector<int32_t> &tensors) {
        for (const int32_t t : tensors)
            if (t != none) marks[static_cast<size_t>(t)] = true;
    };
    for (const size_t s : steps) mark(made, plan.steps[s].out);
    for (size_t s = 0, next = 0; s < plan.steps.size(); ++s)
        if (next < steps.size() && steps[next] == s)
            ++next;
        else
            mark(taken, plan.steps[s].in);

    Excerpt excerpt(plan, plan.graph, steps.size());
    for (const size_t s : steps) excerpt.step(plan.steps[s]);
    Section out{excerpt.take(), excerpt.tensors()};
    out.plan.sequences = plan.sequences;
    for (size_t t = 0; t < out.tensors.size(); ++t) {
        const auto whole = static_cast<size_t>(out.tensors[t]);
        PlannedTensor &tensor = out.plan.tensors[t];
        if (tensor.kind == PlannedTensor::Kind::activation && !made[whole]) tensor.kind = PlannedTensor::Kind::input;
        if (tensor.kind == PlannedTensor::Kind::input) {
            tensor.output = false;
            out.plan.inputs[tensor.name] = static_cast<int32_t>(t);
        }
        if (tensor.kind != PlannedTensor::Kind::activation) continue;
        if (taken[whole]) tensor.output = true, tensor.stays = false;
        if (tensor.output) out.plan.outputs[tensor.name] = static_cast<int32_t>(t);
    }
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
