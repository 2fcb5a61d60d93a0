#include "admission/admission.hpp"

#include "admission/timing.hpp"
#include "conformance/check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

namespace lamina::admission {
namespace {

constexpr double least_room = 0x1p20; // values: if there is no memory for these, there is none for anything

// Calls a function at the end of the scope, even if something is thrown.
class AtEnd {
  public:
    explicit AtEnd(std::function<void()> call) : call_(std::move(call)) {}
    AtEnd(const AtEnd &) = delete;
    AtEnd &operator=(const AtEnd &) = delete;
    ~AtEnd() {
        try {
            call_();
        } catch (...) { // saving is not worth ending the process for
        }
    }

  private:
    std::function<void()> call_;
};

// Steps with equal texts have the same layer, parameters, ports and shapes.
std::string kind_of(const plan::Step &step) {
    std::string text = std::string(step.call.layer().id()) + shapes_of(step);
    for (const uint32_t port : step.call.bound(abi::PortList::in)) text += " " + std::to_string(port);
    return text;
}

// What is proved, for people: "attention, tiled: case 3 of 17".
std::string title_of(const Trial &trial) {
    const std::span cases(trial.layer->contract->cases, trial.layer->contract->n_cases);
    const auto at = std::find(cases.begin(), cases.end(), trial.text) - cases.begin() + 1;
    return std::string(trial.layer->id()) + ", " + trial.variant + ": " +
           (trial.declared ? "case " + std::to_string(at) + " of " + std::to_string(cases.size())
                           : "shapes of the model");
}

// Whether a variant may be used in a session of this precision. Less exact arithmetic has a greater value in the ABI.
bool exact_enough(const plan::Variant &variant, Precision precision) {
    const uint32_t least = precision == Precision::full   ? LAMINA_F32
                           : precision == Precision::half ? LAMINA_BF16
                                                          : LAMINA_Q8_0;
    return variant.baseline || variant.arithmetic <= least;
}

} // namespace

std::chrono::seconds usual_proving_time(std::string_view kind, bool kept) {
    return std::chrono::seconds(kept && kind != "cpu" && kind != "software" ? 20 : 0);
}

Admission::Admission(std::shared_ptr<plan::Device> device, const std::filesystem::path &file,
                     const RuntimeOptions &options)
    : device_(std::move(device)), trials_(std::make_unique<Trials>(device_)), options_(options),
      proving_time_(std::chrono::duration_cast<Clock::duration>(options.proving_time.value_or(Clock::duration{}))),
      findings_(file, options, device_->name()) {
    for (const auto &[id, layer] : device_->plugins()->layers())
        for (const plan::Variant &v : device_->variants(layer)) variants_.emplace_back(&layer, v.name);
    // What is proved in the background is of use to later processes, which read it from the file.
    if (device_->parallel() && !file.empty())
        background_ = std::make_unique<Background>([this](const Trial &trial) { try_in_background(trial); });
}

void Admission::move_to(std::shared_ptr<plan::Device> device) {
    const std::lock_guard lock(mutex_);
    device_ = std::move(device);
    trials_ = std::make_unique<Trials>(device_);
}

void Admission::try_all(const std::vector<Trial> &trials, const std::function<bool()> &go_on, size_t at_once) {
    Trials::Caller caller;
    caller.begin = [&](const Trial &t) {
        if (!findings_.is_open(t) || !go_on()) return false;
        progress_shown_ = true;
        if (options_.proving) options_.proving(title_of(t));
        return true;
    };
    caller.end = [&](const Trial &t, const CaseResult *result) { findings_.record(t, result); };
    caller.failed = [&](const Trial &t, const Error &e) {
        findings_.record(t, e);
        findings_.tell_barred(*t.layer);
    };
    trials_->run(trials, caller, at_once);
}

// At the end of a proof, however it ends.
void Admission::finish() {
    cases_.clear();
    findings_.save();
    if (std::exchange(progress_shown_, false) && options_.proving) options_.proving({});
}

// Why a variant cannot compute this step's shapes here; empty if it can. A plan that breaks its contract bars the
// variant.
std::string Admission::why_not_fit(const plan::Step &step, const std::string &variant) {
    try {
        return device_->why_not(step.call, variant).why;
    } catch (const Error &e) {
        if (e.code() != ErrorCode::plugin) throw;
        findings_.bar(step.call.layer(), variant, e.what());
        return e.what();
    }
}

// The cases like a step, for one variant: a smaller case must run all the pipelines that the step runs.
// A choice asks for them several times.
const StepCases &Admission::cases_of(const plan::Step &step, const std::string &variant) {
    const std::pair key{kind_of(step), variant};
    if (const auto known = cases_.find(key); known != cases_.end()) return known->second;
    plan::Device::Limits limits = device_->limits();
    limits.values = std::min(limits.values, room_);
    const std::set<plan::Pipeline> of_step = device_->pipelines(step.call, variant);
    const auto alike = [&](const abi::LayerCall &call) {
        const std::set<plan::Pipeline> of_call = device_->pipelines(call, variant);
        return std::includes(of_call.begin(), of_call.end(), of_step.begin(), of_step.end());
    };
    return cases_.emplace(key, cases_like(step.call, limits, alike)).first->second;
}

// What a variant has not passed yet of the cases like a step, and if `declared`, of those that its layer declares.
std::vector<Trial> Admission::missing(const plan::Step &step, const std::string &variant, bool declared) {
    const abi::Layer &layer = step.call.layer();
    const Verdicts::Verdict verdict = findings_.verdict(layer, variant);
    std::vector<Trial> out;
    for (const conformance::Case &c : cases_of(step, variant).cases)
        if (Trial trial{&layer, variant, to_string(c), false}; !findings_.has_shape(layer, variant, trial.text))
            out.push_back(std::move(trial));
    for (size_t i = verdict.tried; declared && i < verdict.cases; ++i)
        out.push_back({&layer, variant, layer.contract->cases[i], true});
    return out;
}

// The user hears of each kind of step whose tensors are too large for a case on a GPU.
void Admission::tell_smaller(const plan::Step &step) {
    const double values = conformance::values_of(step.call), most = device_->limits().values;
    if (!options_.notify || !device_->has_kernels() || values <= most || !told_smaller_.insert(kind_of(step)).second)
        return;
    options_.notify(step.call.where() + ": '" + std::string(step.call.layer().id()) +
                    "' is proved at smaller sizes: its tensors have " + std::to_string(std::llround(values / 1e6)) +
                    " million values, and those of a case at most " + std::to_string(std::llround(most / 1e6)) +
                    " million");
}

// Proves a variant on the cases like a step, at the step's own size or the largest for which there is memory, and if
// `declared`, on those that its layer declares.
void Admission::prove(const plan::Step &step, const std::string &variant, bool declared,
                      const std::function<bool()> &go_on) {
    for (size_t at_once = SIZE_MAX;;) {
        try {
            const std::vector<Trial> trials = missing(step, variant, declared);
            if (!trials.empty()) tell_smaller(step);
            return try_all(trials, go_on, at_once);
        } catch (const Error &e) {
            const double values = std::min(room_, conformance::values_of(step.call));
            if (e.code() != ErrorCode::memory || values < least_room) throw;
            if (std::exchange(at_once, 1) != 1) continue; // together they may need more than there is
            room_ = values / 2;
            cases_.clear();
            if (options_.notify)
                options_.notify(
                    step.call.where() + ": variant '" + variant +
                    "' is proved at smaller sizes, because memory has no room for those of the step: " + e.what());
        }
    }
}

// The variants that this device has for a step, as far as they are exact enough. Those that are less exact are likely
// to be faster, and come first, but for the baseline.
std::vector<plan::Variant> Admission::variants_for(const plan::Step &step, Precision precision) {
    std::vector<plan::Variant> out = device_->variants(step.call.layer());
    std::erase_if(out, [&](const plan::Variant &v) { return !exact_enough(v, precision); });
    std::ranges::stable_sort(out, [](const plan::Variant &a, const plan::Variant &b) {
        return a.baseline != b.baseline ? a.baseline : !b.baseline && a.arithmetic > b.arithmetic;
    });
    return out;
}

// Whether the cases like a step are enough for this variant to run it. They are for the baseline.
bool Admission::may_begin(const plan::Step &step, const plan::Variant &variant) {
    return variant.baseline && cases_of(step, variant.name).alike;
}

// Proves what must be proved for these steps all at once, and the largest kernels first, because those take
// drivers longest to compile.
void Admission::prove_first_variants(const std::vector<const plan::Step *> &steps, const Wanted &wanted) {
    std::set<Trial> listed;
    std::vector<std::pair<size_t, Trial>> sized;
    for (const plan::Step *step : steps) {
        if (wanted.variants.contains(step->call.layer().id())) continue;
        for (const plan::Variant &variant : variants_for(*step, wanted.precision)) {
            if (!why_not_fit(*step, variant.name).empty()) continue;
            std::vector<Trial> trials = missing(*step, variant.name, !may_begin(*step, variant));
            if (!trials.empty()) tell_smaller(*step);
            for (Trial &trial : trials)
                if (listed.insert(trial).second)
                    sized.emplace_back(device_->code_size(step->call, variant.name), std::move(trial));
            break;
        }
    }
    std::stable_sort(sized.begin(), sized.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    std::vector<Trial> trials;
    for (auto &[size, trial] : sized) trials.push_back(std::move(trial));
    try {
        try_all(trials, [] { return true; });
    } catch (const Error &e) {
        if (e.code() != ErrorCode::memory) throw; // one by one, they may fit
    }
}

// As long as there is `time` for it in all, proves the other variants that can compute these steps: all at once,
// because each step adds few cases of its own, which would leave cores idle. The first variant of every step comes
// before the second one of any: the time may end before all are proved, and then no step should be left with its
// slowest.
void Admission::prove_other_variants(const std::vector<const plan::Step *> &steps, const Wanted &wanted,
                                     Clock::duration time) {
    const auto began = Clock::now();
    const auto go_on = [&] { return proving_ + (Clock::now() - began) < time; };
    if (!go_on()) return;
    std::set<Trial> listed;
    std::vector<std::pair<size_t, Trial>> ranked;
    for (const plan::Step *step : steps) {
        if (wanted.variants.contains(step->call.layer().id())) continue;
        size_t rank = 0; // among those that fit
        for (const plan::Variant &variant : variants_for(*step, wanted.precision)) {
            if (!why_not_fit(*step, variant.name).empty()) continue;
            for (Trial &trial : missing(*step, variant.name, true))
                if (listed.insert(trial).second) ranked.emplace_back(rank, std::move(trial));
            ++rank;
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<Trial> trials;
    for (auto &[rank, trial] : ranked) trials.push_back(std::move(trial));
    try {
        try_all(trials, go_on);
    } catch (const Error &e) {
        if (e.code() != ErrorCode::memory) throw; // one by one, they may fit
    }
    proving_ += Clock::now() - began;
}

// Whether a variant may run this step. If the cases like the step are enough, it need not have passed the declared
// ones. A variant that is `needed`, because there is no other, is proved however long it takes; others as long as there
// is `time` in all.
bool Admission::proved(const plan::Step &step, const plan::Variant &variant, bool needed, Clock::duration time) {
    const bool may_begin = this->may_begin(step, variant);
    if (variant.baseline || needed) prove(step, variant.name, !may_begin, [] { return true; });
    const auto began = Clock::now();
    prove(step, variant.name, true, [&] { return proving_ + (Clock::now() - began) < time; });
    proving_ += Clock::now() - began;
    const Verdicts::Verdict verdict = findings_.verdict(step.call.layer(), variant.name);
    if (verdict.barred() || (verdict.tried == verdict.cases && verdict.passed == 0)) return false;
    if (!variant.baseline && !needed && !cases_of(step, variant.name).alike) return false; // its kernel never ran
    return missing(step, variant.name, !may_begin).empty();
}

// `who` may not run a step, because `variant` failed its proof.
Error Admission::failed_proof(const plan::Step &step, const std::string &who, const std::string &variant) const {
    const abi::Layer &layer = step.call.layer();
    const Verdicts::Verdict verdict = findings_.verdict(layer, variant);
    std::string text =
        step.call.where() + ": " + who + " may not run on " + device_->name() + ", because variant '" + variant + "' " +
        (verdict.barred() ? "failed its proof:\n  " + verdict.why : "can run no case that would prove it");
    if (!verdict.replay.empty()) text += "\n  to see it: " + verdict.replay;
    return {ErrorCode::unproven, text + "\n  to prove it again: lamina check " + std::string(layer.id()) +
                                     " --admit --device " + device_->id() + conformance::plugin_option(layer)};
}

// Throws if a requested variant may not run this step.
void Admission::expect_proved(const plan::Step &step, const std::string &variant) {
    const abi::Layer &layer = step.call.layer();
    prove(step, variant, true, [] { return true; });
    const Verdicts::Verdict verdict = findings_.verdict(layer, variant);
    if (verdict.barred() || (verdict.passed == 0 && findings_.shapes(layer, variant).empty()) ||
        !missing(step, variant, true).empty())
        throw failed_proof(step, "the variant that was requested", variant);
}

// The variants that can compute this step here and may run, in the contract's order.
std::vector<std::string> Admission::candidates(const plan::Step &step, Precision precision,
                                               std::set<std::string> *unproven) {
    const abi::Layer &layer = step.call.layer();
    const std::string id(layer.id());
    std::vector<std::string> out, failed, fit;
    std::string reasons;
    for (const plan::Variant &variant : variants_for(step, precision)) {
        const std::string misfit = why_not_fit(step, variant.name);
        if (misfit.empty()) fit.push_back(variant.name);
        if (misfit.empty() && proved(step, variant, out.empty(), proving_time_)) out.push_back(variant.name);
        if (findings_.verdict(layer, variant.name).barred() || (misfit.empty() && out.empty()))
            failed.push_back(variant.name);
        reasons += "; " + variant.name + ": " + misfit;
    }
    if (out.empty() && !device_->fallback().empty()) out.push_back(device_->fallback());
    if (out.empty() && unproven != nullptr && !fit.empty()) out.push_back(fit.front()), unproven->insert(id);
    if (out.empty() && !failed.empty()) throw failed_proof(step, "'" + id + "'", failed.front());
    if (out.empty())
        throw Error(ErrorCode::no_device,
                    step.call.where() + ": no variant of '" + id + "' can run on " + device_->name() + reasons);
    findings_.tell_barred(layer);
    return out;
}

std::string Admission::fastest(const plan::GraphPlan &plan, size_t s, plan::Backend &backend,
                               const std::vector<std::string> &candidates) {
    if (candidates.size() == 1) return candidates.front();
    const abi::Layer &layer = plan.steps[s].call.layer();
    std::string shapes = shapes_of(plan.steps[s]);
    shapes += " of";
    for (const std::string &variant : candidates) shapes += " " + variant;
    const std::string measured = findings_.fastest(layer, shapes);
    if (std::ranges::find(candidates, measured) != candidates.end()) return measured;
    if (!may_measure()) return findings_.usually_fastest(layer, candidates);
    const auto began = Clock::now();
    const std::string best = measure_fastest(plan, s, backend, candidates);
    measuring_ += Clock::now() - began;
    findings_.set_fastest(layer, shapes, best);
    return best;
}

// The variant for one step: the one that was asked for, or the fastest of those that may run.
std::string Admission::variant_for(const plan::GraphPlan &plan, size_t s, plan::Backend &backend, const Wanted &wanted,
                                   std::set<std::string> *unproven) {
    const plan::Step &step = plan.steps[s];
    const auto named = wanted.variants.find(step.call.layer().id());
    if (named == wanted.variants.end()) return fastest(plan, s, backend, candidates(step, wanted.precision, unproven));
    const auto variants = device_->variants(step.call.layer());
    if (std::ranges::find(variants, named->second, &plan::Variant::name) != variants.end())
        expect_proved(step, named->second); // for other names, compile() throws and lists the variants
    return named->second;
}

std::vector<std::string> Admission::choose(const plan::GraphPlan &plan, plan::Backend &backend, const Wanted &wanted,
                                           std::set<std::string> *unproven) {
    const std::lock_guard lock(mutex_);
    const AtEnd finished([&] { finish(); });
    return choose_all(plan, backend, wanted, unproven);
}

std::vector<fusion::Match> Admission::choose_fusions(const plan::GraphPlan &plan,
                                                     const std::vector<fusion::Match> &matches, plan::Backend &backend,
                                                     const Wanted &wanted) {
    const std::lock_guard lock(mutex_);
    const AtEnd finished([&] { finish(); });
    std::map<std::string, bool> kinds; // whether such matches are worthwhile
    std::vector<const plan::Step *> distinct;
    for (const fusion::Match &match : matches)
        if (kinds.emplace(kind_of(match.fused), false).second) distinct.push_back(&match.fused);
    prove_other_variants(distinct, wanted, time_of_fusions());
    kinds.clear();
    std::vector<fusion::Match> out;
    for (const fusion::Match &match : matches) {
        if (std::ranges::any_of(out, [&](const fusion::Match &other) { return overlap(match, other); })) continue;
        const auto [kind, fresh] = kinds.emplace(kind_of(match.fused), false);
        if (fresh) kind->second = worthwhile(plan, match, backend, wanted);
        if (kind->second) out.push_back(match);
    }
    prove_rest_in_background(distinct, wanted.precision);
    return out;
}

std::vector<std::string> Admission::choose_all(const plan::GraphPlan &plan, plan::Backend &backend,
                                               const Wanted &wanted, std::set<std::string> *unproven) {
    // Steps of the same kind, as in all blocks of a model, need the same proofs and get the same variant.
    std::map<std::string, size_t> kinds; // the first step of each
    std::vector<size_t> first_alike;
    std::vector<const plan::Step *> distinct;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        first_alike.push_back(kinds.emplace(kind_of(plan.steps[s]), s).first->second);
        if (first_alike.back() == s) distinct.push_back(&plan.steps[s]);
    }
    prove_first_variants(distinct, wanted);
    prove_other_variants(distinct, wanted, proving_time_);
    std::vector<std::string> out;
    for (size_t s = 0; s < plan.steps.size(); ++s)
        out.push_back(first_alike[s] != s ? out[first_alike[s]] : variant_for(plan, s, backend, wanted, unproven));
    prove_rest_in_background(distinct, wanted.precision);
    return out;
}

Admission::Proof Admission::proof_of(const abi::Layer &layer, const std::string &variant) const {
    return {std::string(layer.id()), variant, findings_.verdict(layer, variant),
            findings_.shapes(layer, variant).size()};
}

std::vector<Admission::Proof> Admission::redo(const std::vector<std::string> &layers,
                                              const std::function<void(const Proof &)> &progress) {
    const std::lock_guard lock(mutex_);
    const AtEnd finished([&] { finish(); });
    for (const std::string &id : layers) (void)device_->plugins()->layer(id); // throws if there is none
    std::vector<Proof> out;
    for (const auto &[id, layer] : device_->plugins()->layers()) {
        if (!layers.empty() && std::find(layers.begin(), layers.end(), id) == layers.end()) continue;
        std::vector<std::vector<Trial>> of_variants;
        for (const plan::Variant &v : device_->variants(layer)) {
            std::vector<Trial> &trials = of_variants.emplace_back();
            for (const char *text : std::span(layer.contract->cases, layer.contract->n_cases))
                trials.push_back({&layer, v.name, text, true});
            for (const std::string &text : findings_.shapes(layer, v.name))
                trials.push_back({&layer, v.name, text, false});
        }
        findings_.forget(layer);
        for (const std::vector<Trial> &trials : of_variants) {
            try_all(trials, [] { return true; });
            const std::string &variant = trials.front().variant;
            out.push_back(proof_of(layer, variant));
            findings_.save(); // now, because proving all takes minutes and a driver may crash
            if (progress) progress(out.back());
        }
    }
    findings_.told_all();
    return out;
}

std::vector<Admission::Proof> Admission::known(const std::vector<std::string> &layers) const {
    for (const std::string &id : layers) (void)device_->plugins()->layer(id); // throws if there is none
    std::vector<Proof> out;
    for (const auto &[layer, variant] : variants_) {
        const std::string id(layer->id());
        if (layers.empty() || std::find(layers.begin(), layers.end(), id) != layers.end())
            out.push_back(proof_of(*layer, variant));
    }
    return out;
}

} // namespace lamina::admission
