#include "conformance/check.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/shell.hpp"
#include "conformance/case_generator.hpp"
#include "conformance/case_graph.hpp"
#include "conformance/choice.hpp"
#include "conformance/kernel_cases.hpp"
#include "conformance/long_loops.hpp"
#include "conformance/replay.hpp"
#include "conformance/sample.hpp"
#include "conformance/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <span>

namespace lamina::conformance {
namespace {

using Status = CaseResult::Status;

bool wanted(const plan::Variant &variant, const std::vector<std::string> &names) {
    return names.empty() || std::find(names.begin(), names.end(), variant.name) != names.end();
}

void refuse_unknown_variants(const std::vector<const abi::Layer *> &layers, plan::Device &device,
                             const std::vector<std::string> &names) {
    std::set<std::string> known;
    for (const abi::Layer *layer : layers)
        for (const plan::Variant &v : device.variants(*layer)) known.insert(v.name);
    for (const std::string &name : names)
        if (!known.contains(name))
            throw Error(ErrorCode::usage,
                        "no layer has a variant '" + name + "' on " + device.id() + instead_of(name, names_of(known)));
}

bool same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Tensor &x, const Tensor &y) { return std::ranges::equal(x.bytes(), y.bytes()); });
}

// The kernels that no variant dispatches in any case. Those that the build left out go to `left_out`.
void add_unreached_kernels(const abi::Layer &layer, plan::Device &device, const std::vector<Case> &cases,
                           std::vector<std::string> &out, std::set<std::string> &left_out) {
    std::set<uint32_t> reached;
    for (const Case &c : cases) {
        const abi::LayerCall call = call_of(layer, c);
        for (const plan::Variant &variant : device.variants(layer))
            for (const plan::Pipeline &pipeline : device.pipelines(call, variant.name)) reached.insert(pipeline.kernel);
    }
    for (uint32_t k = 0; k < layer.contract->n_kernels; ++k) {
        const lamina_kernel &kernel = layer.contract->kernels[k];
        if (kernel.words == 0)
            left_out.insert(kernel.name);
        else if (!reached.contains(k))
            out.push_back(std::string(layer.id()) + ": no case dispatches kernel '" + kernel.name + "' here");
    }
}

// One case of one layer, for one variant after the other. The reference is computed once.
class CaseCheck {
  public:
    // `text`: the case as shown in results. `named` and `option`: the arguments of `lamina check` that run it again.
    CaseCheck(plan::Device &device, const abi::Layer &layer, CaseGraph graph, std::string text, std::string named,
              std::string option, size_t soak)
        : device_(device), layer_(layer), text_(std::move(text)), named_(std::move(named)), option_(std::move(option)),
          soak_(soak), graph_(std::move(graph)), expected_(reference_of(device.plugins(), graph_, graph_.rows)),
          fault_of_reference_(fault_of_reference()), sensitivity_(graph_.overflows ? sensitivity() : 0) {}

    CaseResult run(const plan::Variant &variant) const {
        CaseResult result{std::string(layer_.id()), variant.name, text_, Status::failed, {}, {}, {}, false, false};
        result.replay = "lamina check" + named_ + " --device " + device_.id() + " --variant " + variant.name + option_ +
                        plugin_option(layer_);
        result.why = fault_of_reference_;
        if (!result.why.empty()) return result;
        try {
            const plan::Refusal refusal = device_.why_not(graph_.plan.steps.front().call, variant.name);
            if (refusal.why.empty()) {
                bool refused = false;
                result.why = fault_of(variant, result.verdict, refused);
                result.status = refused ? Status::skipped : result.why.empty() ? Status::passed : Status::failed;
            } else {
                result.status = variant.baseline ? Status::failed : Status::skipped;
                result.why = (variant.baseline ? "the baseline must accept every case: " : "") + refusal.why;
                result.missing = refusal.missing;
            }
        } catch (const Error &e) {
            // These errors say nothing about the variant, and the next cases would fail in the same way.
            if (e.code() == ErrorCode::device_lost || e.code() == ErrorCode::memory)
                throw Error(e.code(), std::string(e.what()) + " Replay: " + result.replay);
            result.why = e.what();
            result.broke = e.code() == ErrorCode::failure;
        }
        return result;
    }

  private:
    // A reference must keep to the ranges that its contract declares, and if it claims to compute rows alone, give them
    // the same bits as among all others.
    [[nodiscard]] std::string fault_of_reference() const {
        const abi::LayerCall &call = graph_.plan.steps.front().call;
        if (graph_.rows.empty())
            if (const std::string fault = fault_of_indices(call, expected_); !fault.empty())
                return "the reference is wrong: " + fault;
        if (!call.by_rows() || !graph_.rows.empty()) return {};
        const int64_t some = std::clamp<int64_t>(call.rows() / 2, 1, 8);
        const std::vector<int64_t> rows = sample_of(call, static_cast<size_t>(some));
        const std::vector<Tensor> alone = reference_of(device_.plugins(), graph_, rows);
        for (size_t i = 0; i < alone.size(); ++i) {
            const bool same = is_output(i) ? std::ranges::equal(pick_rows(alone[i], rows).bytes(),
                                                                pick_rows(expected_[i], rows).bytes())
                                           : std::ranges::equal(alone[i].bytes(), expected_[i].bytes());
            if (!same)
                return "the reference gives '" + name_of_result(i) +
                       "' other values if it is asked for some rows of the outputs only (by_rows)";
        }
        return {};
    }

    // How far rounding the inputs moves the results, as a multiple of the strictest tolerance.
    [[nodiscard]] double sensitivity() const {
        const double ratio = verdict_on(reference_of(device_.plugins(), rounded(graph_), graph_.rows),
                                        tolerance_of(*layer_.contract, LAMINA_F32))
                                 .ratio;
        return std::isfinite(ratio) ? ratio : 0;
    }

    // What the results may differ by from the reference's.
    [[nodiscard]] lamina_tolerance allowed(const plan::Variant &variant) const {
        lamina_tolerance out = tolerance_of(graph_.plan.steps.front().call, variant.arithmetic);
        if (sensitivity_ > 0.25) out.rtol *= 1 + 2 * sensitivity_, out.atol *= 1 + 2 * sensitivity_;
        return out;
    }

    [[nodiscard]] bool is_output(size_t result) const { return result < graph_.plan.outputs.size(); } // or a state
    [[nodiscard]] const std::string &name_of_result(size_t result) const {
        return graph_.plan.tensors[static_cast<size_t>(graph_.results[result])].name;
    }

    // What is wrong with the variant's results; empty if nothing is. `refused`: another one computed them, since these
    // values are not for its kernel.
    std::string fault_of(const plan::Variant &variant, Verdict &verdict, bool &refused) const {
        const auto backend = device_.backend(graph_.weights);
        plan::ProgramOptions options;
        options.guard = true;
        options.variants = {variant.name};
        const auto program = backend->compile(graph_.plan, options);
        write_values(*program, graph_);
        const std::vector<Tensor> first = run_case(*program, graph_);
        refused = program->variant(0) != variant.name;
        if (refused) return "its kernel does not take such values: " + program->variant(0) + " computed them";
        const lamina_tolerance tolerance = allowed(variant);
        verdict = verdict_on(first, tolerance);
        if (!verdict.passed) return verdict.text();
        if (const std::string fault = fault_of_indices(graph_.plan.steps.front().call, first); !fault.empty())
            return fault;
        if (const std::string name = program->overrun(); !name.empty()) return "it wrote outside " + name;
        const size_t runs = (device_.strict() ? 1 : 2) + soak_;
        for (size_t again = 2; again <= runs; ++again) {
            restore_states(*program, graph_);
            if (!same_bits(first, run_case(*program, graph_)))
                return "run " + std::to_string(again) + " of the same program on the same values gave different bits";
        }
        const abi::LayerCall &call = graph_.plan.steps.front().call;
        options.poison = plan::other_poison[0];
        options.in_parts = device_.binds_parts(call, variant.name);
        std::string fault;
        if (!device_.strict() || options.in_parts)
            fault = fault_of_plan(*backend, options, options.in_parts, "with weights bound in parts: ", variant, first);
        options.poison = plan::other_poison[1];
        options.in_parts = false;
        options.folded = true;
        if (fault.empty())
            fault = fault_of_plan(*backend, options, options.folded, "when its grid folds over y: ", variant, first);
        return fault;
    }

    // What is wrong with a run over memory with other contents. `change`, one of the options, may have changed its
    // plan.
    std::string fault_of_plan(plan::Backend &backend, plan::ProgramOptions &options, bool &change, const char *when,
                              const plan::Variant &variant, const std::vector<Tensor> &first) const {
        std::vector<Tensor> found;
        try {
            found = results_of(backend, options);
        } catch (const Error &e) {
            if (!change || e.code() != ErrorCode::plugin) throw;
            return when + std::string(e.what());
        }
        if (same_bits(first, found)) return "";
        change = false;
        if (!same_bits(first, results_of(backend, options)))
            return "its result depends on the previous contents of outputs and scratch, or on what lies beyond a "
                   "tensor: it reads memory that it never wrote";
        const Verdict verdict = verdict_on(found, allowed(variant)); // another plan may sum in another order
        return verdict.passed ? "" : when + verdict.text();
    }

    [[nodiscard]] std::vector<Tensor> results_of(plan::Backend &backend, const plan::ProgramOptions &options) const {
        const auto program = backend.compile(graph_.plan, options);
        write_values(*program, graph_);
        return run_case(*program, graph_);
    }

    Verdict verdict_on(const std::vector<Tensor> &results, const lamina_tolerance &tolerance) const {
        const Verdict verdict = verdict_against(expected_, results, tolerance);
        if (verdict.passed) return verdict;
        const auto expected = reference_for_choice(device_.plugins(), graph_, results, graph_.rows, tolerance);
        return expected ? verdict_against(*expected, results, tolerance) : verdict;
    }

    [[nodiscard]] Verdict verdict_against(const std::vector<Tensor> &expected, const std::vector<Tensor> &results,
                                          const lamina_tolerance &tolerance) const {
        Verdict verdict;
        for (size_t i = 0; i < results.size(); ++i) {
            const bool sampled = !graph_.rows.empty() && is_output(i);
            add(verdict, sampled ? compare_rows(results[i], expected[i], graph_.rows, tolerance, name_of_result(i))
                                 : compare(results[i], expected[i], tolerance, name_of_result(i)));
        }
        return verdict;
    }

    plan::Device &device_;
    const abi::Layer &layer_;
    const std::string text_, named_, option_;
    const size_t soak_;
    const CaseGraph graph_;
    const std::vector<Tensor> expected_;
    const std::string fault_of_reference_;
    const double sensitivity_;
};

} // namespace

std::string plugin_option(const abi::Layer &layer) {
    const std::filesystem::path folder = layer.path.parent_path();
    const std::vector<std::filesystem::path> known = abi::Registry::search_path({});
    const bool found = std::find(known.begin(), known.end(), folder) != known.end();
    return found ? "" : " --plugin-dir " + shell_word(folder.string());
}

std::vector<const abi::Layer *> layers_of(const abi::Registry &plugins, const std::vector<std::string> &names) {
    std::vector<const abi::Layer *> out;
    for (const std::string &name : names) out.push_back(&plugins.layer(name));
    if (names.empty())
        for (const auto &[id, layer] : plugins.layers()) out.push_back(&layer);
    return out;
}

LayerCases cases_of(const abi::Layer &layer, const CheckOptions &options) {
    if (!options.case_text.empty()) return {{parse_case(*layer.contract, options.case_text, options.seed)}, 0};
    LayerCases out;
    for (const char *text : std::span(layer.contract->cases, layer.contract->n_cases)) try {
            out.cases.push_back(parse_case(*layer.contract, text, options.seed));
        } catch (const Error &e) {
            throw Error(ErrorCode::plugin, layer.path.string() + ": " + e.what());
        }
    if (options.own_cases_only) return out;
    GeneratorOptions generator;
    generator.seed = options.seed;
    if (options.thorough) generator.count = 200, generator.work *= 10, generator.large = true;
    GeneratedCases generated = generate_cases(layer, generator);
    out.refused = generated.refused;
    std::move(generated.cases.begin(), generated.cases.end(), std::back_inserter(out.cases));
    return out;
}

std::vector<CaseResult> check_case(plan::Device &device, const abi::Layer &layer, const Case &c,
                                   const std::vector<plan::Variant> &variants) {
    const std::string text = to_string(c);
    const CaseCheck one(device, layer, make_case_graph(layer, c), text, " " + std::string(layer.id()),
                        " --case " + shell_word(text), 0);
    std::vector<CaseResult> out;
    for (const plan::Variant &variant : variants) out.push_back(one.run(variant));
    return out;
}

CheckReport check(plan::Device &device, const CheckOptions &options,
                  const std::function<void(const CaseResult &)> &progress) {
    const std::shared_ptr<const abi::Registry> &plugins = device.plugins();
    CheckReport report;
    const auto variants_of = [&](const abi::Layer &layer) {
        std::vector<plan::Variant> out = device.variants(layer);
        std::erase_if(out, [&](const plan::Variant &v) { return !wanted(v, options.variants); });
        return out;
    };
    size_t all = 1;
    const auto run = [&](const CaseCheck &one, const abi::Layer &layer, const std::vector<plan::Variant> &variants) {
        for (const plan::Variant &variant : variants) {
            if (options.begin) options.begin(std::string(layer.id()) + ", " + variant.name, report.results.size(), all);
            report.results.push_back(one.run(variant));
            if (progress) progress(report.results.back());
        }
    };
    if (!options.replay.empty()) {
        Replay replay = read_replay(options.replay, *plugins);
        refuse_unknown_variants({replay.layer}, device, options.variants);
        all = variants_of(*replay.layer).size();
        run(CaseCheck(device, *replay.layer, std::move(replay.graph), options.replay.string(), "",
                      " --replay " + shell_word(options.replay.string()), options.soak),
            *replay.layer, variants_of(*replay.layer));
        return report;
    }
    const std::vector<const abi::Layer *> layers = layers_of(*plugins, options.layers);
    refuse_unknown_variants(layers, device, options.variants);
    struct Work {
        std::vector<Case> cases;         // for all variants
        std::vector<KernelCase> kernels; // for one each
    };
    std::vector<Work> work;
    std::set<std::string> left_out;
    all = 0;
    const bool complete = options.case_text.empty() && !options.own_cases_only && options.variants.empty();
    for (const abi::Layer *layer : layers) {
        work.emplace_back();
        if (device.variants(*layer).empty() && options.case_text.empty()) continue; // a given case is still validated
        LayerCases of_layer = cases_of(*layer, options);
        if (complete && device.has_kernels()) {
            LongLoops loops = long_loops(plugins, *layer, device.variants(*layer), options.seed);
            std::ranges::move(loops.cases, std::back_inserter(of_layer.cases));
            for (const std::string &what : loops.out_of_reach)
                report.unreached.push_back(std::string(layer->id()) + ": " + what);
            add_unreached_kernels(*layer, device, of_layer.cases, report.unreached, left_out);
            work.back().kernels = kernel_cases(*layer, device, of_layer.cases);
        }
        report.refused += of_layer.refused;
        all += of_layer.cases.size() * variants_of(*layer).size() + work.back().kernels.size();
        work.back().cases = std::move(of_layer.cases);
    }
    if (!left_out.empty())
        report.unreached.push_back("kernels that this build's shader compiler could not compile: " +
                                   joined({left_out.begin(), left_out.end()}));
    for (size_t i = 0; i < layers.size(); ++i) {
        const abi::Layer &layer = *layers[i];
        const auto run_case = [&](const Case &c, const std::vector<plan::Variant> &variants) {
            run(CaseCheck(device, layer, make_case_graph(layer, c), to_string(c), " " + std::string(layer.id()),
                          " --case " + shell_word(to_string(c)), options.soak),
                layer, variants);
        };
        for (const Case &c : work[i].cases) run_case(c, variants_of(layer));
        for (const KernelCase &k : work[i].kernels) run_case(k.c, {k.variant});
    }
    return report;
}

} // namespace lamina::conformance
