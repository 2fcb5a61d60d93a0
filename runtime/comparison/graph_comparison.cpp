#include "comparison/graph_comparison.hpp"

#include "base/shell.hpp"
#include "conformance/check.hpp"
#include "conformance/replay.hpp"
#include "conformance/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace lamina::comparison {
namespace {

std::vector<int32_t> results_of(const plan::Step &step) {
    std::vector<int32_t> out = step.out;
    std::ranges::copy_if(step.state, std::back_inserter(out), [](int32_t t) { return t != plan::none; });
    return out;
}

// Repeats the last step. Returns how many of the runs changed a bit of the results.
size_t changed_runs(Run &run, size_t repeats, const std::vector<int32_t> &results) {
    std::vector<Tensor> first;
    for (const int32_t t : results) first.push_back(run.read(t));
    size_t changed = 0;
    for (size_t i = 0; i < repeats; ++i) {
        run.again();
        const bool same = std::ranges::equal(results, first, [&](int32_t t, const Tensor &before) {
            return std::ranges::equal(run.read(t).bytes(), before.bytes());
        });
        changed += same ? 0 : 1;
    }
    return changed;
}

// The variants to compare: the requested ones, even if they are not proved, because comparing is a way to find out;
// otherwise the session's. Layers that a session would refuse run, too, and are added to `unproven`.
struct Wanted {
    std::map<std::string, std::string, std::less<>> variants; // by layer
    std::set<std::string> &unproven;
};

std::vector<std::string> variants_of(detail::SessionState &session, const plan::GraphPlan &plan, const Wanted &wanted) {
    std::vector<std::string> out = session.variants(plan, &wanted.unproven);
    const std::vector<std::string> named = plan::variants_by_layer(plan, wanted.variants);
    out.resize(named.size());
    for (size_t s = 0; s < named.size(); ++s)
        if (!named[s].empty()) out[s] = named[s];
    return out;
}

// A graph for these shapes. With keep_all every tensor has its own memory and can be read; otherwise memory is shared
// as in a session.
Run compile(detail::SessionState &session, const std::string &graph, plan::GraphShapes shapes, const Wanted &wanted,
            bool keep_all) {
    shapes.state_dtype = session.options.cache;
    plan::ProgramOptions options;
    options.keep_all = keep_all;
    options.poison = keep_all ? plan::poison_word : plan::other_poison[1]; // different, to expose unwritten memory
    plan::GraphPlan plan =
        plan::plan_graph(*session.model, session.model->graphs.at(graph), *session.runtime->plugins, shapes);
    options.variants = variants_of(session, plan, wanted);
    return Run(session.backend->compile(std::move(plan), options));
}

// One layer alone, by one variant.
Run compile_alone(detail::SessionState &session, const plan::GraphPlan &plan, size_t step, const std::string &variant) {
    plan::ProgramOptions options;
    options.poison = plan::other_poison[0]; // running_ has NaN there
    options.variants = {variant};
    return Run(session.backend->compile(plan::isolate(plan, step), options));
}

// The CPU's kernels and the references compute in F32 or better.
uint32_t arithmetic_of(const lamina_layer &contract, const std::string &variant) {
    for (uint32_t i = 0; i < contract.n_variants; ++i)
        if (variant == contract.variants[i].name) return contract.variants[i].arithmetic;
    return LAMINA_F32;
}

} // namespace

GraphComparison::GraphComparison(detail::SessionState &truth, detail::SessionState &device, const GraphSteps &graph,
                                 const CompareOptions &options, std::set<std::string> &unproven,
                                 const GraphComparison *before)
    : device_(device), first_(graph.first), repeats_(options.repeat - std::min<size_t>(options.repeat, 1)),
      replay_folder_(options.replay_folder), expected_(compile(truth, graph.graph, graph.shapes, {{}, unproven}, true)),
      running_(compile(device, graph.graph, graph.shapes, {options.variants, unproven}, true)),
      whole_(compile(device, graph.graph, graph.shapes, {options.variants, unproven}, false)) {
    const std::vector<plan::Step> &steps = plan().steps;
    for (size_t s = 0; s < steps.size(); ++s) {
        alone_.push_back(compile_alone(device, plan(), s, running_.variant(s)));
        layers_.push_back({graph.graph,
                           steps[s].name,
                           steps[s].call.layer().contract->id,
                           running_.variant(s),
                           {},
                           {},
                           graph.shapes.states_only,
                           {}});
    }
    if (before == nullptr) return;
    expected_.continue_from(before->expected_);
    running_.continue_from(before->running_);
    whole_.continue_from(before->whole_);
}

bool GraphComparison::step(const TensorMap &inputs) {
    expected_.step(inputs);
    running_.step(inputs);
    whole_.step(inputs);
    bool agrees = true;
    for (size_t s = 0; s < layers_.size(); ++s) agrees = compare_layer(s) && agrees;
    for (const auto &[name, index] : whole_.plan().outputs)
        if (!std::ranges::equal(whole_.read(index).bytes(), running_.read(index).bytes()))
            changed_outputs_.push_back(plan().graph + "." + name);
    if (changed_outputs_.empty() && repeats_ != 0) repeat_whole();
    ++steps_;
    return agrees && changed_outputs_.empty();
}

void GraphComparison::add_to(Comparison &out) const {
    for (LayerComparison layer : layers_) {
        if (first_ + steps_ == 1 || layer.prompt) layer.step.reset();
        out.layers.push_back(std::move(layer));
    }
    out.changed_outputs.insert(out.changed_outputs.end(), changed_outputs_.begin(), changed_outputs_.end());
    if (out.replay.empty()) out.replay = replay_, out.replay_command = replay_command_;
}

void GraphComparison::repeat_whole() {
    for (const auto &[name, index] : whole_.plan().outputs)
        if (changed_runs(whole_, repeats_, {index}) != 0) changed_outputs_.push_back(plan().graph + "." + name);
}

bool GraphComparison::compare_layer(size_t s) {
    device_.runtime->working();
    const plan::Step &step = plan().steps[s];
    const lamina_layer &contract = *step.call.layer().contract;
    LayerComparison &layer = layers_[s];
    const lamina_tolerance tolerance = conformance::tolerance_of(contract, arithmetic_of(contract, layer.variant));
    Run &alone = alone_[s];
    alone.step_within(expected_);
    bool agrees = true;
    const auto add = [&](const std::string &port, int32_t expected_at, int32_t running_at, int32_t alone_at) {
        const Tensor expected = expected_.read(expected_at);
        const Verdict own = lamina::compare(alone.read(alone_at), expected, tolerance, port);
        const Verdict accumulated = lamina::compare(running_.read(running_at), expected, tolerance, port);
        if (conformance::add(layer.own, own)) layer.step = first_ + steps_;
        conformance::add(layer.accumulated, accumulated);
        agrees = agrees && own.passed && std::isfinite(accumulated.error);
    };
    const plan::Step &in_graph = running_.plan().steps[s], &by_itself = alone.plan().steps[0];
    if (repeats_ != 0) layer.changed_runs += changed_runs(alone, repeats_, results_of(by_itself));
    for (size_t i = 0; i < step.out.size(); ++i)
        add(contract.outputs[i].name, step.out[i], in_graph.out[i], by_itself.out[i]);
    for (size_t i = 0; i < step.state.size(); ++i)
        if (step.state[i] != plan::none)
            add(contract.states[i].name, step.state[i], in_graph.state[i], by_itself.state[i]);
    agrees = agrees && layer.changed_runs == 0;
    if (!agrees && !layer.own.passed && !replay_folder_.empty() && replay_.empty()) write_replay(s);
    return agrees;
}

void GraphComparison::write_replay(size_t s) {
    const plan::Step &step = plan().steps[s];
    const conformance::ReplaySource source{step,
                                           plan(),
                                           device_.model->weights,
                                           [&](int32_t t) { return expected_.read(t); },
                                           [&](int32_t t) { return expected_.before(t); },
                                           [&](int32_t t) {
                                               const plan::GraphPlan &alone = alone_[s].plan();
                                               return alone_[s].read(
                                                   alone.tensor(plan().tensors[static_cast<size_t>(t)].name));
                                           },
                                           layers_[s].variant,
                                           device_.device.name + ", " + device_.device.driver};
    replay_ = conformance::write_replay(replay_folder_, source);
    replay_command_ = "lamina check --replay " + shell_word(replay_.string()) + " --device " + device_.device.id +
                      " --variant " + layers_[s].variant + conformance::plugin_option(step.call.layer());
}

} // namespace lamina::comparison
