#include "comparison/comparison.hpp"

#include "base/shell.hpp"
#include "conformance/check.hpp"
#include "conformance/replay.hpp"
#include "conformance/values.hpp"
#include "conformance/verdict.hpp"
#include "generation/decoder.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/text_inputs.hpp"
#include "reading/reading.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <set>

namespace lamina {
namespace {

// A program that is run step by step, with its own states. Programs of a backend share states by name, so they are set
// before every run. They begin with arbitrary numbers, as another text might leave them.
class Run {
  public:
    explicit Run(std::unique_ptr<plan::Program> program) : program_(std::move(program)) {
        const auto &tensors = program_->plan().tensors;
        for (size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].kind == plan::PlannedTensor::Kind::state)
                after_[static_cast<int32_t>(i)] = conformance::make_values(tensors[i].type, conformance::Values::normal,
                                                                           false, {}, 1, tensors[i].name);
        before_ = after_;
    }

    // Takes over the states that another program of the graph left.
    void continue_from(const Run &other) {
        for (auto &[t, state] : after_)
            state = other.read(other.plan().tensor(plan().tensors[static_cast<size_t>(t)].name));
    }
    // Continues from the states that the last step left. An input that is not given keeps its value.
    void step(const TensorMap &inputs) {
        for (const auto &[name, tensor] : inputs) program_->write(plan().inputs.at(name), tensor.bytes());
        run_from(after_);
    }
    // The last step once more.
    void again() { run_from(before_); }
    // Runs one layer on the inputs and states that it had in the last step of `whole`.
    void step_within(const Run &whole) {
        for (const auto &[name, index] : plan().inputs)
            program_->write(index, whole.read(whole.plan().tensor(name)).bytes());
        States states;
        for (const auto &[t, state] : before_)
            states[t] = whole.before(whole.plan().tensor(plan().tensors[static_cast<size_t>(t)].name));
        run_from(std::move(states));
    }

    [[nodiscard]] const plan::GraphPlan &plan() const { return program_->plan(); }
    [[nodiscard]] std::string variant(size_t step) const { return program_->variant(step); }
    // The value of a state before the last step.
    [[nodiscard]] const Tensor &before(int32_t state) const { return before_.at(state); }
    // Any tensor after the last step.
    [[nodiscard]] Tensor read(int32_t tensor) const {
        if (const auto state = after_.find(tensor); state != after_.end()) return state->second;
        return read_now(tensor);
    }

  private:
    using States = std::map<int32_t, Tensor>; // by tensor of the plan

    void run_from(States states) {
        before_ = std::move(states);
        for (const auto &[t, state] : before_) program_->write(t, state.bytes());
        program_->run();
        for (auto &[t, state] : after_) state = read_now(t);
    }
    [[nodiscard]] Tensor read_now(int32_t tensor) const {
        Tensor out(plan().tensors[static_cast<size_t>(tensor)].type);
        program_->read(tensor, out.bytes());
        return out;
    }

    std::unique_ptr<plan::Program> program_;
    States before_, after_; // the last step
};

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

// What a graph is run on: once, or for every token that is decoded.
struct GraphSteps {
    std::string graph;
    plan::GraphShapes shapes;
    std::vector<TensorMap> inputs; // of each step; inputs that are not given keep their values
    size_t first = 0;              // number of the first step, where they decode tokens
};

// Compares a graph on the device with the references, step by step.
class GraphComparison {
  public:
    GraphComparison(detail::SessionState &truth, detail::SessionState &device, const GraphSteps &graph,
                    const CompareOptions &options, std::set<std::string> &unproven, const GraphComparison *before)
        : device_(device), first_(graph.first), repeats_(options.repeat - std::min<size_t>(options.repeat, 1)),
          replay_folder_(options.replay_folder),
          expected_(compile(truth, graph.graph, graph.shapes, {{}, unproven}, true)),
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

    // Compares one more step; false when something is wrong in it.
    bool step(const TensorMap &inputs) {
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

    void add_to(Comparison &out) const {
        for (LayerComparison layer : layers_) {
            if (first_ + steps_ == 1 || layer.prompt) layer.step.reset();
            out.layers.push_back(std::move(layer));
        }
        out.changed_outputs.insert(out.changed_outputs.end(), changed_outputs_.begin(), changed_outputs_.end());
        if (out.replay.empty()) out.replay = replay_, out.replay_command = replay_command_;
    }

  private:
    [[nodiscard]] const plan::GraphPlan &plan() const { return expected_.plan(); }

    void repeat_whole() {
        for (const auto &[name, index] : whole_.plan().outputs)
            if (changed_runs(whole_, repeats_, {index}) != 0) changed_outputs_.push_back(plan().graph + "." + name);
    }

    bool compare_layer(size_t s) {
        const plan::Step &step = plan().steps[s];
        const lamina_layer &contract = *step.call.layer().contract;
        LayerComparison &layer = layers_[s];
        const lamina_tolerance tolerance = conformance::tolerance_of(contract, arithmetic_of(contract, layer.variant));
        Run &alone = alone_[s];
        alone.step_within(expected_);
        bool agrees = true;
        const auto add = [&](const std::string &port, int32_t expected_at, int32_t running_at, int32_t alone_at) {
            const Tensor expected = expected_.read(expected_at);
            const Verdict own = compare(alone.read(alone_at), expected, tolerance, port);
            const Verdict accumulated = compare(running_.read(running_at), expected, tolerance, port);
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

    void write_replay(size_t s) {
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

    detail::SessionState &device_;
    size_t first_, repeats_;
    std::filesystem::path replay_folder_, replay_;
    std::string replay_command_;
    Run expected_;
    Run running_;            // on the device; every tensor can be read
    Run whole_;              // on the device as sessions run it
    std::vector<Run> alone_; // each layer on the device, given what expected_ computed
    std::vector<LayerComparison> layers_;
    std::vector<std::string> changed_outputs_;
    size_t steps_ = 0; // done
};

GraphSteps steps_of(GraphRun run) {
    GraphSteps out;
    out.graph = std::move(run.graph);
    out.inputs.push_back(std::move(run.inputs));
    return out;
}

// Text is decoded as in generation, with a cache: a prompt as a block, what follows token by token.
std::vector<GraphSteps> steps_of_decoding(const model::Generation &g, const TensorMap &inputs,
                                          const generation::TextInputs &of_texts) {
    GraphSteps prompt, steps;
    prompt.graph = steps.graph = g.decode;
    prompt.shapes.state_length = steps.shapes.state_length = generation::rounded_length(of_texts.length);
    prompt.shapes.states_only = true;
    const auto length = static_cast<size_t>(inputs.at(g.target_ids).shape()[1]);
    const auto add = [&](GraphSteps &part, size_t first, size_t count) {
        TensorMap &step = part.inputs.emplace_back(generation::tokens_of(g, inputs, first, count));
        if (part.inputs.size() == 1) step.insert(inputs.begin(), inputs.end()); // the other inputs
    };
    if (of_texts.prompt > 2) {
        steps.first = std::bit_floor(std::min(of_texts.prompt - 1, generation::longest_block));
        add(prompt, 0, steps.first);
    }
    for (size_t t = steps.first; t < length; ++t) add(steps, t, 1);
    std::vector<GraphSteps> out;
    if (!prompt.inputs.empty()) out.push_back(std::move(prompt));
    out.push_back(std::move(steps));
    return out;
}

std::vector<GraphSteps> steps_of_generation(detail::SessionState &truth, const std::vector<std::string> &texts) {
    constexpr auto rows = generation::Rows::of_programs;
    generation::TextInputs given =
        texts.empty() ? generation::sample_inputs(truth, rows) : generation::inputs_of_texts(truth, texts, rows);
    std::vector<GraphSteps> out;
    for (GraphRun &run : given.graphs) {
        if (run.graph == truth.model->generation->decode)
            std::ranges::move(steps_of_decoding(*truth.model->generation, run.inputs, given), std::back_inserter(out));
        else
            out.push_back(steps_of(std::move(run)));
    }
    return out;
}

std::string proof_command(const abi::Registry &plugins, const Comparison &comparison) {
    std::string layers;
    std::set<std::string> folders; // each once
    for (const std::string &id : comparison.unproven) {
        layers += " " + id;
        folders.insert(conformance::plugin_option(plugins.layer(id)));
    }
    std::string out = "lamina check" + layers + " --admit --device " + comparison.device.id;
    for (const std::string &folder : folders) out += folder;
    return out;
}

GraphSteps steps_of_reading(const model::Model &model, std::vector<std::string> texts) {
    if (texts.empty()) texts = {"A man is playing a guitar.", "It rains"};
    return steps_of(reading::inputs_of_texts(model, texts));
}

std::string only_graph(const model::Model &model) {
    if (model.graphs.size() == 1) return model.graphs.begin()->first;
    std::string names;
    for (const auto &[name, graph] : model.graphs) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::usage,
                model.folder.string() + " has several graphs (" + names + "): choose one with --graph");
}

} // namespace

bool LayerComparison::agrees() const { return own.passed && changed_runs == 0 && std::isfinite(accumulated.error); }

const LayerComparison *Comparison::first_wrong() const {
    const auto it = std::find_if(layers.begin(), layers.end(), [](const LayerComparison &l) { return !l.agrees(); });
    return it == layers.end() ? nullptr : &*it;
}

std::string Comparison::summary() const {
    const std::string place =
        device.id + " (" + device.name + (device.driver.empty() ? "" : ", " + device.driver) + ")";
    const LayerComparison *wrong = first_wrong();
    if (wrong == nullptr && !changed_outputs.empty())
        return "output '" + changed_outputs.front() + "' on " + place +
               " differs when the graph runs as a whole from when it runs layer by layer, or from run to run, although "
               "each layer agrees "
               "with "
               "the reference: the fault is in memory or barriers between layers, or a layer reads memory that it "
               "never "
               "wrote";
    if (wrong == nullptr)
        return "all " + std::to_string(layers.size()) + " layers on " + place + " agree with the reference";
    return "layer '" + wrong->layer + "' of graph '" + wrong->graph + "' (" + wrong->type + ", variant " +
           wrong->variant + ") is the first that is wrong on " + place + (wrong->prompt ? ", in the prompt" : "") +
           (wrong->step ? ", decoding token " + std::to_string(*wrong->step) : "") + ": " +
           (!wrong->own.passed         ? wrong->own.text()
            : wrong->changed_runs != 0 ? std::to_string(wrong->changed_runs) + " of its runs gave other bits"
                                       : "right by itself, but in the running model " + wrong->accumulated.text());
}

namespace comparison {

Comparison compare(detail::SessionState &truth, detail::SessionState &on_device, const CompareOptions &options) {
    const model::Model &content = *on_device.model;
    std::vector<GraphSteps> graphs;
    if (!options.inputs.empty())
        graphs.push_back(steps_of({options.graph.empty() ? only_graph(content) : options.graph, options.inputs}));
    else if (content.reading)
        graphs.push_back(steps_of_reading(content, options.texts));
    else
        graphs = steps_of_generation(truth, options.texts);

    Comparison out;
    out.device = on_device.device;
    std::set<std::string> unproven;
    std::unique_ptr<GraphComparison> before; // of the same graph
    for (GraphSteps &g : graphs) {
        if (!content.graphs.contains(g.graph))
            throw Error(ErrorCode::usage, content.folder.string() + " has no graph '" + g.graph + "'");
        for (const auto &[name, tensor] : g.inputs.front()) g.shapes.inputs[name] = tensor.type();
        auto comparison = std::make_unique<GraphComparison>(truth, on_device, g, options, unproven, before.get());
        // Steps after a wrong one are wrong as well, and would hide where it began.
        const bool agrees =
            std::ranges::all_of(g.inputs, [&](const TensorMap &step) { return comparison->step(step); });
        comparison->add_to(out);
        if (g.shapes.states_only && !agrees) break;
        before = g.shapes.states_only ? std::move(comparison) : nullptr;
    }
    out.unproven.assign(unproven.begin(), unproven.end());
    if (!unproven.empty()) out.proof_command = proof_command(*on_device.runtime->plugins, out);
    return out;
}

} // namespace comparison
} // namespace lamina
