#include <lamina/proof.hpp>

#include "proof/replay.hpp"
#include "proof/verdict.hpp"
#include "session/state.hpp"
#include "session/text_inputs.hpp"
#include "session/texts.hpp"

#include <algorithm>

namespace lamina {
namespace {

Tensor read(plan::Program &program, int32_t index) {
    Tensor out(program.plan().tensors[static_cast<size_t>(index)].type);
    program.read(index, out.bytes());
    return out;
}

using Variants = std::map<std::string, std::string, std::less<>>;

// The variants of a comparison: those that are asked for, proved or not, since this is to find out; else the session's.
std::vector<std::string> variants_of(detail::SessionState &session, const plan::GraphPlan &plan,
                                     const Variants &asked) {
    std::vector<std::string> out = session.variants(plan), named = plan::variants_by_layer(plan, asked);
    out.resize(named.size());
    for (size_t s = 0; s < named.size(); ++s)
        if (!named[s].empty()) out[s] = named[s];
    return out;
}

// A graph that has been run. With keep_all every tensor has memory of its own, to be read; else as a session runs it.
std::unique_ptr<plan::Program> run_graph(detail::SessionState &session, const std::string &graph,
                                         const TensorMap &inputs, const Variants &asked, bool keep_all) {
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    plan::ProgramOptions options;
    options.keep_all = options.poison = keep_all;
    plan::GraphPlan plan =
        plan::plan_graph(*session.model, session.model->graphs.at(graph), *session.runtime->plugins, shapes);
    options.variants = variants_of(session, plan, asked);
    auto program = session.backend->compile(std::move(plan), options);
    for (const auto &[name, tensor] : inputs) program->write(program->plan().inputs.at(name), tensor.bytes());
    program->run();
    return program;
}

// One layer alone on the device, fed with what the references computed.
std::unique_ptr<plan::Program> run_alone(detail::SessionState &session, plan::Program &truth, size_t step,
                                         const std::string &variant) {
    plan::ProgramOptions options;
    options.poison = true;
    options.variants = {variant};
    auto program = session.backend->compile(plan::isolate(truth.plan(), step), options);
    for (const auto &[name, index] : program->plan().inputs)
        program->write(index, read(truth, truth.plan().tensor(name)).bytes());
    program->run();
    return program;
}

// The CPU's kernels and the references compute in F32 or better.
uint32_t arithmetic_of(const lamina_layer &contract, const std::string &variant) {
    for (uint32_t i = 0; i < contract.n_variants; ++i)
        if (variant == contract.variants[i].name) return contract.variants[i].arithmetic;
    return LAMINA_F32;
}

// One layer, compared and added to `out`; the first that is wrong is written to the replay folder, if there is one.
void compare_layer(detail::SessionState &device, plan::Program &truth, plan::Program &running, size_t s,
                   const std::filesystem::path &replay_folder, Comparison &out) {
    const plan::Step &step = truth.plan().steps[s];
    const lamina_layer &contract = *step.call.layer().contract;
    const auto alone = run_alone(device, truth, s, running.variant(s));
    LayerComparison layer{truth.plan().graph, step.name, contract.id, running.variant(s), {}, {}};
    const lamina_tolerance tolerance = proof::tolerance_of(contract, arithmetic_of(contract, layer.variant));
    const std::vector<int32_t> &alone_out = alone->plan().steps[0].out;
    for (size_t i = 0; i < step.out.size(); ++i) {
        const std::string name = contract.outputs[i].name;
        const Tensor expected = read(truth, step.out[i]);
        const Verdict own = compare(read(*alone, alone_out[i]), expected, tolerance, name);
        const Verdict accumulated = compare(read(running, running.plan().steps[s].out[i]), expected, tolerance, name);
        layer.own = i == 0 ? own : proof::joined(layer.own, own);
        layer.accumulated = i == 0 ? accumulated : proof::joined(layer.accumulated, accumulated);
    }
    if (!layer.own.passed && !replay_folder.empty() && out.replay.empty()) {
        const auto of_truth = [&](int32_t t) { return read(truth, t); };
        const auto of_alone = [&](int32_t t) {
            const auto port = std::find(step.out.begin(), step.out.end(), t) - step.out.begin();
            return read(*alone, alone_out[static_cast<size_t>(port)]);
        };
        out.replay =
            proof::write_replay(replay_folder, {step, of_truth, of_truth, of_alone, device.model->weights, truth.plan(),
                                                layer.variant, out.device.name + ", " + out.device.driver});
    }
    out.layers.push_back(std::move(layer));
}

std::string only_graph(const model::Model &model) {
    if (model.graphs.size() == 1) return model.graphs.begin()->first;
    std::string names;
    for (const auto &[name, graph] : model.graphs) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::usage,
                model.folder.string() + " has several graphs (" + names + "): say which with --graph");
}

} // namespace

const LayerComparison *Comparison::first_wrong() const {
    const auto it = std::find_if(layers.begin(), layers.end(), [](const LayerComparison &l) { return !l.own.passed; });
    return it == layers.end() ? nullptr : &*it;
}

std::string Comparison::summary() const {
    const std::string place =
        device.id + " (" + device.name + (device.driver.empty() ? "" : ", " + device.driver) + ")";
    const LayerComparison *wrong = first_wrong();
    if (wrong == nullptr && !changed_outputs.empty())
        return "output '" + changed_outputs.front() + "' on " + place +
               " has other bits when the graph runs as a whole than layer by layer, though each layer agrees with the "
               "reference: memory or barriers between layers are at fault";
    if (wrong == nullptr)
        return "all " + std::to_string(layers.size()) + " layers on " + place + " agree with the reference";
    return "layer '" + wrong->layer + "' of graph '" + wrong->graph + "' (" + wrong->type + ", variant " +
           wrong->variant + ") is the first to go wrong on " + place + ": " + wrong->own.text();
}

Comparison compare(const Runtime &runtime, const Model &model, const Device &device, const CompareOptions &options) {
    Session on_device = runtime.session(model, device);
    Session truth = runtime.session(model, runtime.device(options.against));
    session::GraphInputs graphs;
    if (options.inputs.empty())
        graphs = session::inputs_of_texts(
            truth, options.texts.empty()
                       ? session::sample_texts(*detail::Access::model(model), *detail::Access::state(runtime)->plugins)
                       : options.texts);
    else
        graphs.emplace_back(options.graph.empty() ? only_graph(*detail::Access::model(model)) : options.graph,
                            options.inputs);

    Comparison out;
    out.device = device;
    for (const auto &[graph, inputs] : graphs) {
        if (!detail::Access::model(model)->graphs.contains(graph))
            throw Error(ErrorCode::usage, model.folder().string() + " has no graph '" + graph + "'");
        const auto expected = run_graph(detail::Access::state(truth), graph, inputs, {}, true);
        const auto running = run_graph(detail::Access::state(on_device), graph, inputs, options.variants, true);
        for (size_t s = 0; s < expected->plan().steps.size(); ++s)
            compare_layer(detail::Access::state(on_device), *expected, *running, s, options.replay_folder, out);
        const auto whole = run_graph(detail::Access::state(on_device), graph, inputs, options.variants, false);
        for (const auto &[name, index] : whole->plan().outputs)
            if (!std::ranges::equal(read(*whole, index).bytes(), read(*running, index).bytes()))
                out.changed_outputs.push_back(graph + "." + name);
    }
    return out;
}

} // namespace lamina
