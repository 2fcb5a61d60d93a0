#include "comparison/comparison.hpp"

#include "comparison/graph_comparison.hpp"
#include "conformance/check.hpp"
#include "generation/audio_inputs.hpp"
#include "generation/decoder.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/text_inputs.hpp"
#include "reading/images.hpp"
#include "reading/pages.hpp"
#include "reading/reading.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>

namespace lamina {

bool LayerComparison::agrees() const {
    return own.passed && changed_runs == 0 && !not_numbers && std::isfinite(accumulated.error);
}

const LayerComparison *Comparison::first_wrong() const {
    const auto it = std::find_if(layers.begin(), layers.end(), [](const LayerComparison &l) { return !l.agrees(); });
    return it == layers.end() ? nullptr : &*it;
}

size_t Comparison::sampled() const {
    return static_cast<size_t>(
        std::ranges::count_if(layers, [](const LayerComparison &l) { return l.compared_rows < l.rows; }));
}

std::string Comparison::summary() const {
    const std::string place =
        device.id + " (" + device.name + (device.driver.empty() ? "" : ", " + device.driver) + ")";
    const LayerComparison *wrong = first_wrong();
    if (wrong == nullptr && !changed_outputs.empty())
        return "output '" + changed_outputs.front() + "' on " + place +
               " differs when the graph runs as a whole from when it runs layer by layer, or from run to run, although "
               "each layer agrees with the reference: the fault is in memory or barriers between layers, or a layer "
               "reads memory that it never wrote";
    if (wrong == nullptr)
        return "all " + std::to_string(layers.size()) + " layers on " + place + " agree with the reference" +
               (sampled() == 0 ? "" : ", " + std::to_string(sampled()) + " of them in a sample of their rows");
    return "layer '" + wrong->layer + "' of graph '" + wrong->graph + "' (" + wrong->type + ", variant " +
           wrong->variant + ") is the first that is wrong on " + (device.parts.empty() ? place : wrong->device) +
           (wrong->prompt ? ", in the prompt" : "") +
           (wrong->step ? ", decoding token " + std::to_string(*wrong->step) : "") + ": " +
           (!wrong->own.passed         ? wrong->own.text()
            : wrong->changed_runs != 0 ? std::to_string(wrong->changed_runs) + " of its runs gave other bits"
            : wrong->not_numbers ? "the reference gives NaN, too, so a weight of this layer, or what it is given, is "
                                   "NaN, infinite or too large"
                                 : "right by itself, but in the running model " + wrong->accumulated.text());
}

namespace comparison {
namespace {

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

generation::TextInputs inputs_of_generation(detail::SessionState &truth, const std::vector<std::string> &texts) {
    constexpr auto rows = generation::Rows::of_programs;
    const model::Model &model = *truth.model;
    if (!texts.empty()) return generation::inputs_of_texts(truth, texts, rows);
    if (!model.generation || !model.generation->takes_images()) return generation::sample_inputs(truth, rows);
    const TensorMap picture = reading::usual_inputs(*model.images);
    return generation::inputs_of_sources(truth, {generation::Patches(picture.at(model.images->patches).f32())}, rows);
}

std::vector<GraphSteps> steps_of_generation(detail::SessionState &truth, const std::vector<std::string> &texts) {
    generation::TextInputs given = inputs_of_generation(truth, texts);
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

std::vector<GraphSteps> usual_steps(detail::SessionState &truth, const std::vector<std::string> &texts) {
    const model::Model &content = *truth.model;
    const bool talks = content.images && content.images->place; // and sees
    if (content.images && content.images->gives == model::Images::Gives::texts)
        return steps_of_generation(truth, texts);
    std::vector<GraphSteps> out;
    if (content.reading) out.push_back(steps_of_reading(content, texts));
    if (content.images && (texts.empty() || (!content.reading && !talks)))
        out.push_back(steps_of({content.images->graph, reading::usual_inputs(*content.images)}));
    if (content.pages && texts.empty())
        out.push_back(steps_of({content.pages->reading.graph, reading::usual_inputs(*content.pages)}));
    if (content.speech)
        out.push_back(steps_of({content.speech->graph, generation::usual_inputs(content.speech->audio)}));
    if (out.empty() || talks) std::ranges::move(steps_of_generation(truth, texts), std::back_inserter(out));
    return out;
}

std::string only_graph(const model::Model &model) {
    if (model.graphs.size() == 1) return model.graphs.begin()->first;
    std::string names;
    for (const auto &[name, graph] : model.graphs) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::usage,
                model.folder.string() + " has several graphs (" + names + "): choose one with --graph");
}

} // namespace

Comparison compare(detail::SessionState &truth, detail::SessionState &on_device, const CompareOptions &options) {
    const model::Model &content = *on_device.model;
    std::vector<GraphSteps> graphs;
    if (!options.inputs.empty())
        graphs.push_back(steps_of({options.graph.empty() ? only_graph(content) : options.graph, options.inputs}));
    else
        graphs = usual_steps(truth, options.texts);

    Comparison out;
    out.device = on_device.device;
    std::set<std::string> unproven;
    std::unique_ptr<GraphComparison> before; // of the same graph
    for (GraphSteps &g : graphs) {
        if (!content.graphs.contains(g.graph))
            throw Error(ErrorCode::usage, content.folder.string() + " has no graph '" + g.graph + "'");
        for (const auto &[name, tensor] : g.inputs.front()) g.shapes.inputs[name] = tensor.type();
        auto comparison = std::make_unique<GraphComparison>(truth, on_device, g, options, unproven, before.get());
        before.reset();
        // Steps after a wrong one are wrong as well, and would hide where it began.
        const bool agrees =
            std::ranges::all_of(g.inputs, [&](const TensorMap &step) { return comparison->step(step); });
        comparison->add_to(out);
        if (g.shapes.states_only && !agrees) break;
        before = g.shapes.states_only ? std::move(comparison) : nullptr;
        if (before != nullptr) before->keep_states();
    }
    out.unproven.assign(unproven.begin(), unproven.end());
    if (!unproven.empty()) out.proof_command = proof_command(*on_device.runtime->plugins, out);
    return out;
}

} // namespace comparison
} // namespace lamina
