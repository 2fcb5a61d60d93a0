#include "measure/layer.hpp"

#include "conformance/case_graph.hpp"
#include "measure/openblas.hpp"
#include "measure/repeat.hpp"
#include "plan/cost.hpp"

#include <algorithm>
#include <functional>

namespace lamina::measure {
namespace {

using abi::PortList;
using conformance::Case;

// The case that gives the layer the most to do of those that it declares.
Case largest_case(const abi::Layer &layer) {
    std::optional<Case> out;
    double most = -1;
    for (const char *text : std::span(layer.contract->cases, layer.contract->n_cases)) {
        Case c = conformance::parse_case(*layer.contract, text);
        if (const double values = conformance::values_of(call_of(layer, c)); values > most)
            most = values, out = std::move(c);
    }
    return std::move(*out); // a contract has at least one case
}

// Lengths, masks and positions get their highest value, with which nothing is skipped. Indices into a table stay as
// they are, spread over its rows.
void give_full_work(const lamina_layer &contract, Case &c) {
    for (const lamina_port &port : std::span(contract.inputs, contract.n_inputs))
        if (port.dtypes == LAMINA_I32 && !plan::looks_up(contract, port))
            c.values.try_emplace(port.name, conformance::Values::max);
}

// All that a device has of a layer, and on the CPU its reference.
std::vector<std::string> all_variants(const plan::Device &device, const abi::Layer &layer) {
    std::vector<std::string> out;
    for (const plan::Variant &v : device.variants(layer)) out.push_back(v.name);
    if (const std::string reference = device.fallback(); !reference.empty()) out.push_back(reference);
    return out;
}

// What is to be measured: all variants, the named one, or the one that a session would use.
std::vector<std::string> wanted_variants(detail::RuntimeState &runtime, const Device &device,
                                         const conformance::CaseGraph &graph, plan::Backend &backend,
                                         const MeasureOptions &options) {
    if (!options.variant.empty()) return {options.variant}; // compile() throws if there is no such
    if (options.all_variants) return all_variants(*runtime.open(device), graph.plan.steps.front().call.layer());
    const std::shared_ptr<admission::Admission> admission = runtime.admission(device);
    return admission == nullptr ? std::vector<std::string>{""} : admission->choose(graph.plan, backend, {});
}

void time_variant(plan::Backend &backend, const conformance::CaseGraph &graph, const std::string &variant,
                  double seconds, LayerMeasurement &result) {
    plan::RunTimes times;
    plan::ProgramOptions options;
    options.variants = {variant};
    options.timed = [&](const plan::Program &, const plan::RunTimes &of_run) { times = of_run; };
    const auto program = backend.compile(graph.plan, options);
    conformance::write_values(*program, graph);
    result.variant = program->variant(0);
    result.time = repeat(seconds, [&] {
        program->run();
        return times.of_dispatches();
    });
    result.device_clock = times.device_clock;
}

// The same product by OpenBLAS: of a layer with a single matrix, all of whose work is that product.
std::optional<Spread> yardstick(const abi::LayerCall &call, const Cost &cost, double seconds) {
    const auto &weights = call.types(PortList::weight);
    const auto matrix =
        std::find_if(weights.begin(), weights.end(), [](const TensorType &t) { return t.shape.size() == 2; });
    if (matrix == weights.end()) return std::nullopt;
    const int64_t n = matrix->shape[0], k = matrix->shape[1];
    const int64_t m = element_count(call.types(PortList::out).front().shape) / n;
    if (cost.operations != 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k))
        return std::nullopt;
    return openblas_product(m, n, k, seconds);
}

} // namespace

std::vector<LayerMeasurement> measure_layer(detail::RuntimeState &runtime, const Device &device, const std::string &id,
                                            const std::string &case_text, const MeasureOptions &options) {
    const abi::Layer &layer = runtime.plugins->layer(id);
    Case c = case_text.empty() ? largest_case(layer) : conformance::parse_case(*layer.contract, case_text);
    const std::string text = case_text.empty() ? conformance::to_string(c) : case_text;
    give_full_work(*layer.contract, c);
    const conformance::CaseGraph graph = conformance::make_case_graph(layer, c);
    const abi::LayerCall &call = graph.plan.steps.front().call;
    const std::shared_ptr<plan::Device> opened = runtime.open(device);
    const std::unique_ptr<plan::Backend> backend = opened->backend(graph.weights);
    const Cost cost = plan::cost_of(call);
    std::vector<LayerMeasurement> out;
    for (const std::string &variant : wanted_variants(runtime, device, graph, *backend, options)) {
        LayerMeasurement one{id, variant, text, {}, {}, cost, false, {}};
        if (options.all_variants) one.why_not = opened->why_not(call, variant).why;
        if (one.why_not.empty()) time_variant(*backend, graph, variant, options.seconds, one);
        out.push_back(std::move(one));
    }
    if (!options.yardstick) return out;
    const std::optional<Spread> openblas = yardstick(call, cost, options.seconds);
    for (LayerMeasurement &one : out)
        if (one.why_not.empty()) one.openblas = openblas;
    return out;
}

} // namespace lamina::measure
