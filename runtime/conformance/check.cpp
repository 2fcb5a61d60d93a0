#include "conformance/check.hpp"

#include "base/nearest.hpp"
#include "base/shell.hpp"
#include "conformance/case_generator.hpp"
#include "conformance/case_graph.hpp"
#include "conformance/replay.hpp"
#include "conformance/sample.hpp"
#include "conformance/verdict.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <span>

namespace lamina::conformance {
namespace {

using Status = CaseResult::Status;

std::vector<const abi::Layer *> layers_of(const abi::Registry &plugins, const std::vector<std::string> &names) {
    std::vector<const abi::Layer *> out;
    for (const std::string &name : names) out.push_back(&plugins.layer(name));
    if (names.empty())
        for (const auto &[id, layer] : plugins.layers()) out.push_back(&layer);
    return out;
}

bool wanted(const CheckVariant &variant, const std::vector<std::string> &names) {
    return names.empty() || std::find(names.begin(), names.end(), variant.name) != names.end();
}

void refuse_unknown_variants(const std::vector<const abi::Layer *> &layers, const CheckTarget &target,
                             const std::vector<std::string> &names) {
    std::set<std::string> known;
    for (const abi::Layer *layer : layers)
        for (const CheckVariant &v : target.variants(*layer)) known.insert(v.name);
    for (const std::string &name : names)
        if (!known.contains(name))
            throw Error(ErrorCode::usage, "no layer has a variant '" + name + "' on " + target.device +
                                              instead_of(name, names_of(known)));
}

bool same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Tensor &x, const Tensor &y) { return std::ranges::equal(x.bytes(), y.bytes()); });
}

// One case of one layer, for one variant after the other. The reference is computed once.
class CaseCheck {
  public:
    // `text`: the case as shown in results. `named` and `option`: the arguments of `lamina check` that run it again.
    CaseCheck(const std::shared_ptr<const abi::Registry> &plugins, const CheckTarget &target, const abi::Layer &layer,
              CaseGraph graph, std::string text, std::string named, std::string option, size_t soak)
        : target_(target), layer_(layer), text_(std::move(text)), named_(std::move(named)), option_(std::move(option)),
          soak_(soak), graph_(std::move(graph)), expected_(reference_of(plugins, graph_, graph_.rows)),
          fault_of_reference_(fault_of_reference(plugins)) {}

    CaseResult run(const CheckVariant &variant) const {
        CaseResult result{std::string(layer_.id()), variant.name, text_, Status::failed, {}, {}, {}, false};
        result.replay = "lamina check" + named_ + " --device " + target_.device + " --variant " + variant.name +
                        option_ + plugin_option(layer_);
        result.why = fault_of_reference_;
        if (!result.why.empty()) return result;
        try {
            const plan::Refusal refusal = target_.why_not(graph_.plan.steps.front().call, variant.name);
            if (refusal.why.empty()) {
                result.why = fault_of(variant, result.verdict);
                result.status = result.why.empty() ? Status::passed : Status::failed;
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
        }
        return result;
    }

  private:
    // A reference that claims to compute rows alone must give them the same bits as among all others.
    [[nodiscard]] std::string fault_of_reference(const std::shared_ptr<const abi::Registry> &plugins) const {
        const abi::LayerCall &call = graph_.plan.steps.front().call;
        if (!call.by_rows() || !graph_.rows.empty()) return {};
        const int64_t some = std::clamp<int64_t>(most_rows_of(call) / 2, 1, 8);
        const std::vector<int64_t> rows = sample_of(call, static_cast<size_t>(some));
        const std::vector<Tensor> alone = reference_of(plugins, graph_, rows);
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

    [[nodiscard]] bool is_output(size_t result) const { return result < graph_.plan.outputs.size(); } // or a state
    [[nodiscard]] const std::string &name_of_result(size_t result) const {
        return graph_.plan.tensors[static_cast<size_t>(graph_.results[result])].name;
    }

    // What is wrong with the variant's results; empty if nothing is.
    std::string fault_of(const CheckVariant &variant, Verdict &verdict) const {
        const auto backend = target_.backend(graph_.weights);
        plan::ProgramOptions options;
        options.guard = true;
        options.variants = {variant.name};
        const auto program = backend->compile(graph_.plan, options);
        write_values(*program, graph_);
        const std::vector<Tensor> first = run_case(*program, graph_);
        const lamina_tolerance tolerance = tolerance_of(*layer_.contract, variant.arithmetic);
        verdict = verdict_on(first, tolerance);
        if (!verdict.passed) return verdict.text();
        if (const std::string name = program->overrun(); !name.empty()) return "it wrote outside " + name;
        const size_t runs = (target_.strict ? 1 : 2) + soak_;
        for (size_t again = 2; again <= runs; ++again) {
            restore_states(*program, graph_);
            if (!same_bits(first, run_case(*program, graph_)))
                return "run " + std::to_string(again) + " of the same program on the same values gave different bits";
        }
        const char *const depends = "its result depends on the previous contents of outputs and scratch, or on what "
                                    "lies beyond a tensor: it reads memory that it never wrote";
        options.poison = plan::other_poison[0];
        if (!target_.strict && !same_bits(first, results_of(*backend, options))) return depends;
        options.poison = plan::other_poison[1];
        options.folded = true;
        const std::vector<Tensor> folded = results_of(*backend, options);
        if (same_bits(first, folded)) return {};
        options.folded = false;
        if (!same_bits(first, results_of(*backend, options))) return depends;
        verdict = verdict_on(folded, tolerance); // another grid may sum in another order
        return verdict.passed ? "" : "when its grid folds over y: " + verdict.text();
    }

    [[nodiscard]] std::vector<Tensor> results_of(plan::Backend &backend, const plan::ProgramOptions &options) const {
        const auto program = backend.compile(graph_.plan, options);
        write_values(*program, graph_);
        return run_case(*program, graph_);
    }

    Verdict verdict_on(const std::vector<Tensor> &results, const lamina_tolerance &tolerance) const {
        Verdict verdict;
        for (size_t i = 0; i < results.size(); ++i) {
            const bool sampled = !graph_.rows.empty() && is_output(i);
            add(verdict, sampled ? compare_rows(results[i], expected_[i], graph_.rows, tolerance, name_of_result(i))
                                 : compare(results[i], expected_[i], tolerance, name_of_result(i)));
        }
        return verdict;
    }

    const CheckTarget &target_;
    const abi::Layer &layer_;
    const std::string text_, named_, option_;
    const size_t soak_;
    const CaseGraph graph_;
    const std::vector<Tensor> expected_;
    const std::string fault_of_reference_;
};

} // namespace

std::string plugin_option(const abi::Layer &layer) {
    const std::filesystem::path folder = layer.path.parent_path();
    const std::vector<std::filesystem::path> known = abi::Registry::search_path({});
    const bool found = std::find(known.begin(), known.end(), folder) != known.end();
    return found ? "" : " --plugin-dir " + shell_word(folder.string());
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

CheckReport check(const std::shared_ptr<const abi::Registry> &plugins, const CheckTarget &target,
                  const CheckOptions &options, const std::function<void(const CaseResult &)> &progress) {
    CheckReport report;
    const auto variants_of = [&](const abi::Layer &layer) {
        std::vector<CheckVariant> out = target.variants(layer);
        std::erase_if(out, [&](const CheckVariant &v) { return !wanted(v, options.variants); });
        return out;
    };
    size_t all = 1;
    const auto run = [&](const CaseCheck &one, const abi::Layer &layer) {
        for (const CheckVariant &variant : variants_of(layer)) {
            if (options.begin) options.begin(std::string(layer.id()) + ", " + variant.name, report.results.size(), all);
            report.results.push_back(one.run(variant));
            if (progress) progress(report.results.back());
        }
    };
    if (!options.replay.empty()) {
        Replay replay = read_replay(options.replay, *plugins);
        refuse_unknown_variants({replay.layer}, target, options.variants);
        all = variants_of(*replay.layer).size();
        run(CaseCheck(plugins, target, *replay.layer, std::move(replay.graph), options.replay.string(), "",
                      " --replay " + shell_word(options.replay.string()), options.soak),
            *replay.layer);
        return report;
    }
    const std::vector<const abi::Layer *> layers = layers_of(*plugins, options.layers);
    refuse_unknown_variants(layers, target, options.variants);
    std::vector<std::vector<Case>> cases;
    all = 0;
    for (const abi::Layer *layer : layers) {
        cases.emplace_back();
        if (target.variants(*layer).empty() && options.case_text.empty()) continue; // a given case is still validated
        LayerCases of_layer = cases_of(*layer, options);
        report.refused += of_layer.refused;
        all += of_layer.cases.size() * variants_of(*layer).size();
        cases.back() = std::move(of_layer.cases);
    }
    for (size_t i = 0; i < layers.size(); ++i)
        for (const Case &c : cases[i])
            run(CaseCheck(plugins, target, *layers[i], make_case_graph(*layers[i], c), to_string(c),
                          " " + std::string(layers[i]->id()), " --case " + shell_word(to_string(c)), options.soak),
                *layers[i]);
    return report;
}

} // namespace lamina::conformance
