#include "comparison/truth.hpp"

#include "base/processor.hpp"
#include "comparison/graph_comparison.hpp"
#include "conformance/sample.hpp"
#include "conformance/verdict.hpp"

#include <algorithm>
#include <functional>

namespace lamina::comparison {
namespace {

// Multiplications of a layer's reference in all steps: half a second. Small models stay below it.
constexpr double most_work = 1e9;

using Samples = std::vector<std::vector<std::vector<int64_t>>>;

// The samples of layers whose references take more work than that and can compute rows alone; empty for the others.
Samples samples_of(const plan::GraphPlan &plan, size_t runs) {
    Samples out;
    for (const plan::Step &step : plan.steps) {
        out.emplace_back();
        const int64_t rows = conformance::affordable_rows(step.call, most_work);
        const bool long_work = static_cast<double>(runs) * conformance::work_of(step.call) > most_work;
        if (step.call.by_rows() && long_work && rows < static_cast<int64_t>(runs) * step.call.rows())
            out.back() = conformance::sample_of_runs(step.call, runs, static_cast<size_t>(rows));
    }
    return out;
}

plan::GraphPlan plan_of(detail::SessionState &session, const GraphSteps &graph) {
    plan::GraphShapes shapes = graph.shapes;
    shapes.state_dtype = session.options.cache;
    return plan::plan_graph(*session.model, session.model->graphs.at(graph.graph), *session.runtime->plugins, shapes);
}

plan::ProgramOptions with_references(detail::SessionState &session, std::vector<std::string> variants) {
    plan::ProgramOptions out;
    out.keep_all = true;
    out.poison = plan::poison_word;
    out.variants = std::move(variants);
    out.references.threads = cores();
    out.references.give_back = true;
    out.working = session.runtime->options.working;
    return out;
}

} // namespace

Truth::Truth(detail::SessionState &session, const plan::GraphPlan &device, const GraphSteps &graph,
             const CompareOptions &options, std::set<std::string> &unproven)
    : session_(session), device_(device), free_(plan_of(session, graph)), samples_(device.steps.size()), run_([&] {
          std::map<std::string, size_t> layers;
          for (size_t s = 0; s < device_.steps.size(); ++s) {
              layers[device_.steps[s].name] = s;
              for (const std::string &name : device_.steps[s].replaces) layers[name] = s;
          }
          for (const plan::Step &step : free_.steps) layer_of_.push_back(layers.at(step.name));
          plan::GraphPlan plan = free_;
          give_choices(plan);
          take_samples(graph, options);
          std::vector<std::string> own = variants(plan, options, unproven);
          return Run(session.backend().compile(std::move(plan), with_references(session, std::move(own))), true);
      }()) {
    std::vector<bool> by_kernel(samples_.size());
    for (size_t s = 0; s < free_.steps.size(); ++s)
        if (run_.variant(s) != "reference") by_kernel[layer_of_[s]] = true;
    for (size_t s = 0; s < samples_.size(); ++s)
        if (!by_kernel[s]) samples_[s].clear(); // there is no kernel: all rows are right
    for (const plan::PlannedTensor &tensor : device_.tensors) same_.push_back(run_.plan().tensor(tensor.name));
}

void Truth::take_samples(const GraphSteps &graph, const CompareOptions &options) {
    if (options.against == "reference" && !options.all_rows) samples_ = samples_of(device_, graph.inputs.size());
}

// What computes each layer: references, but kernels where the reference takes too long.
std::vector<std::string> Truth::variants(const plan::GraphPlan &plan, const CompareOptions &options,
                                         std::set<std::string> &unproven) {
    const bool references = options.against == "reference";
    std::vector<std::string> out(plan.steps.size(), "reference");
    if (references && std::ranges::all_of(samples_, &Samples::value_type::empty)) return out;
    const std::vector<std::string> own = session_.variants(plan, &unproven);
    for (size_t s = 0; s < own.size(); ++s)
        if (!references || sampled(layer_of_[s])) out[s] = own[s];
    return out;
}

void Truth::give_choices(plan::GraphPlan &plan) {
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        plan::Step &step = plan.steps[s];
        const auto choice = conformance::choice_of(step.call);
        if (!choice || !device_.steps[layer_of_[s]].replaces.empty()) continue;
        const std::string name = step.name + "." + step.call.layer().contract->inputs[choice->given].name;
        const auto tensor = static_cast<int32_t>(plan.tensors.size());
        plan.tensors.push_back(
            {name, step.call.types(abi::PortList::out)[choice->indices], plan::PlannedTensor::Kind::input, false});
        plan.inputs[name] = step.in[choice->given] = tensor;
        step.call = step.call.with(choice->given, choice->indices);
        chosen_.emplace(layer_of_[s], Chosen{s, *choice, name});
    }
}

std::vector<Tensor> Truth::read(const std::vector<int32_t> &tensors) const {
    std::vector<Tensor> out;
    for (const int32_t t : tensors) out.push_back(read(t));
    return out;
}

void Truth::step(const TensorMap &inputs, const Run &device) {
    TensorMap all = inputs;
    for (const auto &[s, chosen] : chosen_) {
        const plan::Step &step = device_.steps[s];
        std::vector<Tensor> found = device.read(step.out);
        Tensor &indices = found[chosen.ports.indices];
        // No choice at all: the layer is wrong by itself, and what later layers take does not matter.
        if (!conformance::fault_of_indices(step.call, found).empty() || conformance::has_twins(indices))
            for (size_t i = 0; i < static_cast<size_t>(indices.size()); ++i)
                indices.i32()[i] = static_cast<int32_t>(i % static_cast<size_t>(indices.shape().back()));
        all.insert_or_assign(chosen.input, std::move(indices));
    }
    run_.step(all);
    ++steps_;
}

std::optional<Tensor> Truth::margins(size_t layer) const {
    const auto chosen = chosen_.find(layer);
    if (chosen == chosen_.end()) return std::nullopt;
    return read(device_.steps[layer].out[chosen->second.ports.margin]);
}

// What the layer computes by itself, or for the choice that a device made by itself, if that is as good.
std::vector<Tensor> Truth::expected_of_choice(size_t layer, const std::vector<Tensor> &found,
                                              const lamina_tolerance &tolerance) const {
    conformance::CaseGraph graph{.plan = plan::isolate(free_, chosen_.at(layer).layer),
                                 .weights = session_.model->weights,
                                 .values = {},
                                 .results = {},
                                 .rows = {}};
    for (const auto &[name, tensor] : graph.plan.inputs)
        graph.values.emplace(tensor, run_.read(run_.plan().tensor(name)));
    graph.results = results_of(graph.plan.steps.front());
    auto out = conformance::reference_for_choice(session_.runtime->plugins, graph, found, {}, tolerance);
    return out ? std::move(*out) : conformance::reference_of(session_.runtime->plugins, graph, {});
}

Expected Truth::expected(size_t layer, const std::vector<Tensor> &found, const lamina_tolerance &tolerance) {
    const plan::Step &step = device_.steps[layer];
    if (chosen_.contains(layer)) return {expected_of_choice(layer, found, tolerance), step.out.size()};
    Expected out{read(results_of(step)), step.out.size()};
    if (!sampled(layer)) return out;
    out.sampled = true;
    const auto most = static_cast<size_t>(conformance::affordable_rows(step.call, most_work));
    std::set<int64_t> rows(samples_[layer][steps_ - 1].begin(), samples_[layer][steps_ - 1].end());
    for (size_t i = 0; i < found.size(); ++i) {
        const std::vector<int64_t> doubtful = conformance::doubtful_rows(found[i], out.results[i], tolerance, most);
        if (i < out.outputs)
            rows.insert(doubtful.begin(), doubtful.end());
        else if (!doubtful.empty())
            rows.insert(0); // any: states are computed whole
    }
    if (rows.empty()) return out;
    out.rows.assign(rows.begin(), rows.end());

    plan::ProgramOptions options = with_references(session_, {"reference"});
    options.references.rows = out.rows;
    Run reference(session_.backend().compile(plan::isolate(device_, layer), options), true);
    reference.step_within(run_);
    const std::vector<Tensor> right = reference.read(results_of(reference.plan().steps[0]));
    for (size_t i = 0; i < right.size(); ++i)
        if (i < out.outputs)
            conformance::put_rows(right[i], out.rows, out.results[i]);
        else
            out.results[i] = right[i];
    return out;
}

std::optional<Verdict> Expected::verdict_on(const Tensor &found, size_t i, const lamina_tolerance &tolerance,
                                            const std::string &name) const {
    if (!sampled || (i >= outputs && !rows.empty())) return compare(found, results[i], tolerance, name);
    if (rows.empty() || rows.front() >= abi::rows_of(found.shape())) return std::nullopt;
    return conformance::compare_rows(found, results[i], rows, tolerance, name);
}

} // namespace lamina::comparison
