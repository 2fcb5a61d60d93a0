#include "comparison/graph_comparison.hpp"

#include "base/shell.hpp"
#include "conformance/check.hpp"
#include "conformance/replay.hpp"
#include "conformance/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace lamina::comparison {
namespace {

// Repeats the last step. Returns how many of the runs changed a bit of the results.
size_t changed_runs(Run &run, size_t repeats, const std::vector<int32_t> &results,
                    const detail::RuntimeState &runtime) {
    const std::vector<Tensor> first = run.read(results);
    size_t changed = 0;
    for (size_t i = 0; i < repeats; ++i) {
        runtime.working();
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

// With keep_all every tensor has its own memory and can be read; otherwise memory is shared as in a session.
std::unique_ptr<plan::Program> compile(detail::SessionState &session, plan::GraphPlan plan, const Wanted &wanted,
                                       bool keep_all) {
    plan::ProgramOptions options;
    options.keep_all = keep_all;
    options.working = session.runtime->options.working;
    options.poison = keep_all ? plan::poison_word : plan::other_poison[1]; // different, to expose unwritten memory
    options.variants = variants_of(session, plan, wanted);
    return session.backend().compile(std::move(plan), options);
}

// One layer alone, by one variant.
std::unique_ptr<plan::Program> compile_alone(detail::SessionState &session, const plan::GraphPlan &plan, size_t step,
                                             const std::string &variant) {
    plan::ProgramOptions options;
    options.poison = plan::other_poison[0]; // running_ has NaN there
    options.variants = {variant};
    options.working = session.runtime->options.working;
    return session.backend().compile(plan::isolate(plan, step), options);
}

// The ports of results_of().
std::vector<std::string> names_of_results(const plan::Step &step) {
    const lamina_layer &contract = *step.call.layer().contract;
    std::vector<std::string> out;
    for (size_t i = 0; i < step.out.size(); ++i) out.emplace_back(contract.outputs[i].name);
    for (size_t i = 0; i < step.state.size(); ++i)
        if (step.state[i] != plan::none) out.emplace_back(contract.states[i].name);
    return out;
}

// That of a GPU's variant, or of the CPU's; references compute in double.
uint32_t arithmetic_of(const lamina_layer &contract, const std::string &variant, const abi::Executor *executor) {
    for (const lamina_variant &v : std::span(contract.variants, contract.n_variants))
        if (variant == v.name) return v.arithmetic;
    if (executor != nullptr)
        for (const abi::CpuVariant &v : executor->variants(contract))
            if (variant == v.name) return v.arithmetic;
    return LAMINA_F32;
}

} // namespace

plan::GraphPlan GraphComparison::planned(detail::SessionState &device, const GraphSteps &graph,
                                         const CompareOptions &options) {
    plan::GraphShapes shapes = graph.shapes;
    shapes.state_dtype = device.options.cache;
    return device.planned(graph.graph, shapes, options.variants);
}

GraphComparison::GraphComparison(detail::SessionState &truth, detail::SessionState &device, const plan::GraphPlan &plan,
                                 const GraphSteps &graph, const CompareOptions &options,
                                 std::set<std::string> &unproven, const GraphComparison *before)
    : device_(device), first_(graph.first), repeats_(options.repeat - std::min<size_t>(options.repeat, 1)),
      replay_folder_(options.replay_folder), truth_(truth, plan, graph, options, unproven),
      running_(compile(device, plan, {options.variants, unproven}, true), false),
      whole_(compile(device, plan, {options.variants, unproven}, false), repeats_ != 0) {
    const std::vector<plan::Step> &steps = plan.steps;
    const std::vector<size_t> places = device.places_of(plan);
    for (size_t s = 0; s < steps.size(); ++s) {
        alone_.emplace_back(compile_alone(device, plan, s, running_.variant(s)), true);
        layers_.push_back({graph.graph,
                           steps[s].name,
                           steps[s].call.layer().contract->id,
                           running_.variant(s),
                           {},
                           {},
                           graph.shapes.states_only,
                           {}});
        layers_.back().device = device.places[places[s]].device.id;
    }
    if (before == nullptr) {
        truth_.begin(), running_.begin(), whole_.begin();
    } else {
        truth_.continue_from(before->truth_);
        running_.continue_from(before->running_);
        whole_.continue_from(before->whole_);
    }
}

bool GraphComparison::step(const TensorMap &inputs) {
    const auto take = [&](auto &run) {
        device_.runtime->working();
        run.step(inputs);
    };
    take(running_), take(whole_);
    device_.runtime->working();
    truth_.step(inputs, running_);
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
        if (changed_runs(whole_, repeats_, {index}, *device_.runtime) != 0)
            changed_outputs_.push_back(plan().graph + "." + name);
}

bool GraphComparison::compare_layer(size_t s) {
    device_.runtime->working();
    const plan::Step &step = plan().steps[s];
    const lamina_layer &contract = *step.call.layer().contract;
    LayerComparison &layer = layers_[s];
    const lamina_tolerance tolerance = conformance::tolerance_of(
        step.call, arithmetic_of(contract, layer.variant, device_.runtime->plugins->executor()));
    const std::vector<std::string> names = names_of_results(step);
    Run &alone = alone_[s];
    alone.step_within(truth_.run());
    if (repeats_ != 0)
        layer.changed_runs += changed_runs(alone, repeats_, results_of(alone.plan().steps[0]), *device_.runtime);
    const std::vector<Tensor> by_itself = alone.read(results_of(alone.plan().steps[0])),
                              in_graph = running_.read(results_of(running_.plan().steps[s]));
    const Expected expected = truth_.expected(s, by_itself, tolerance);
    const std::optional<Tensor> margins = truth_.margins(s);
    std::vector<Tensor> of_choice; // for the choice of the running model
    if (margins) of_choice = truth_.read(results_of(step));
    const std::vector<Tensor> &followed = margins ? of_choice : expected.results;
    const auto rows = static_cast<size_t>(step.call.rows());
    layer.rows += rows;
    layer.compared_rows += expected.sampled ? expected.rows.size() : rows;
    bool agrees = layer.changed_runs == 0;
    for (size_t i = 0; i < step.out.size(); ++i) { // states have places that nothing was written to
        const Tensor &result = expected.results[i];
        if (layer.not_numbers || result.dtype() != DType::f32) continue;
        layer.not_numbers = std::ranges::any_of(result.f32(), [](float v) { return std::isnan(v); });
        if (layer.not_numbers) layer.step = first_ + steps_;
    }
    agrees = agrees && !layer.not_numbers;
    for (size_t i = 0; i < expected.results.size(); ++i) {
        if (const auto own = expected.verdict_on(by_itself[i], i, tolerance, names[i])) {
            if (conformance::add(layer.own, *own)) layer.step = first_ + steps_;
            agrees = agrees && own->passed;
        }
        const Verdict accumulated = lamina::compare(in_graph[i], followed[i], tolerance, names[i]);
        conformance::add(layer.accumulated, accumulated);
        agrees = agrees && std::isfinite(accumulated.error);
    }
    if (margins)
        for (const float margin : margins->f32())
            if (margin < 0) ++layer.other_choices, layer.least_margin = std::min<double>(layer.least_margin, margin);
    if (!agrees && !layer.own.passed && !replay_folder_.empty() && replay_.empty()) write_replay(s, expected);
    alone.forget_states();
    return agrees;
}

void GraphComparison::write_replay(size_t s, const Expected &expected) {
    const plan::Step &step = plan().steps[s];
    const std::vector<int32_t> results = results_of(step);
    const Device &device = device_.places[device_.places_of(plan())[s]].device;
    const conformance::ReplaySource source{
        step,
        plan(),
        device_.model->weights,
        [&](int32_t t) {
            const auto at = std::ranges::find(results, t) - results.begin();
            const auto result = static_cast<size_t>(at);
            return result < results.size() ? expected.results[result] : truth_.read(t);
        },
        [&](int32_t t) { return truth_.before(t); },
        [&](int32_t t) {
            const plan::GraphPlan &alone = alone_[s].plan();
            return alone_[s].read(alone.tensor(plan().tensors[static_cast<size_t>(t)].name));
        },
        layers_[s].variant,
        device.name + ", " + device.driver};
    replay_ = conformance::write_replay(replay_folder_, source);
    replay_command_ = "lamina check --replay " + shell_word(replay_.string()) + " --device " + device.id +
                      " --variant " + layers_[s].variant + conformance::plugin_option(step.call.layer());
}

} // namespace lamina::comparison
