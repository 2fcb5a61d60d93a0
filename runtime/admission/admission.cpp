#include "admission/admission.hpp"

#include "conformance/check.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

namespace lamina::admission {
namespace {

constexpr double least_room = 0x1p20; // values: if there is no memory for these, there is none for anything

// What a step's speed depends on.
std::string shapes_of(const plan::Step &step) {
    std::string key;
    for (const auto list : {abi::PortList::in, abi::PortList::weight, abi::PortList::state}) {
        for (const TensorType &type : step.call.types(list)) key += name_of(type.dtype) + lamina::to_string(type.shape);
        key += ";";
    }
    for (const double p : step.call.params()) key += " " + std::to_string(p);
    return key;
}

// Values that give a kernel its full work: every key counts, every id is in range.
Tensor busy_values(const plan::Step &step, size_t port) {
    Tensor t(step.call.types(abi::PortList::in)[port]);
    if (t.dtype() == DType::i32) {
        const auto range = step.call.values(static_cast<uint32_t>(port));
        const int64_t high = range ? std::min<int64_t>(range->second - 1, INT32_MAX) : 0;
        std::fill(t.i32().begin(), t.i32().end(), static_cast<int32_t>(high));
    } else {
        for (size_t i = 0; i < t.f32().size(); ++i) t.f32()[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
    }
    return t;
}

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

// What is proved, for people: "attention, tiled: case 3 of 17".
std::string title_of(const Trial &trial) {
    const std::span cases(trial.layer->contract->cases, trial.layer->contract->n_cases);
    const auto at = std::find(cases.begin(), cases.end(), trial.text) - cases.begin() + 1;
    return std::string(trial.layer->id()) + ", " + trial.variant + ": " +
           (trial.declared ? "case " + std::to_string(at) + " of " + std::to_string(cases.size())
                           : "shapes of the model");
}

} // namespace

Admission::Admission(std::shared_ptr<const abi::Registry> plugins, conformance::CheckTarget target,
                     const std::filesystem::path &file, const RuntimeOptions &options)
    : plugins_(std::move(plugins)), target_(std::move(target)), trials_(std::make_unique<Trials>(plugins_, target_)),
      verdicts_(file), options_(options) {
    // What is proved beside the work is of use to later processes, which read it from the file.
    if (target_.another && !file.empty())
        beside_ = std::make_unique<Beside>([this](const Trial &trial) { try_beside(trial); });
}

void Admission::move_to(conformance::CheckTarget target) {
    const std::lock_guard lock(mutex_);
    target_ = std::move(target);
    trials_ = std::make_unique<Trials>(plugins_, target_);
    trials_beside_.reset();
}

Verdicts::Admitted Admission::known(const abi::Layer &layer, const std::string &variant) const {
    const Verdicts::Admitted *found = verdicts_.find(layer, variant);
    Verdicts::Admitted out = found != nullptr ? *found : Verdicts::Admitted{};
    out.cases = layer.contract->n_cases; // also for a variant that was never tried
    return out;
}

void Admission::try_all(const std::vector<Trial> &trials, const std::function<bool()> &go_on) {
    Trials::Caller caller;
    caller.begin = [&](const Trial &t) {
        if (!is_open(t) || !go_on()) return false;
        if (options_.proving) options_.proving(title_of(t));
        saying_ = true;
        return true;
    };
    caller.end = [&](const Trial &t, const CaseResult *result) {
        if (record(t, result)) newly_barred_.emplace(t.layer->id(), t.variant);
    };
    caller.failed = [&](const Trial &t, const Error &e) { record_loss(t, e); };
    trials_->run(trials, caller);
}

// On the thread of beside_. The lock is not held while the case runs.
void Admission::try_beside(const Trial &trial) {
    std::shared_ptr<Trials> trials;
    {
        const std::lock_guard lock(mutex_);
        if (trials_beside_ == nullptr) trials_beside_ = std::make_shared<Trials>(plugins_, target_.another());
        trials = trials_beside_;
    }
    Trials::Caller caller;
    caller.begin = [&](const Trial &t) {
        const std::lock_guard lock(mutex_);
        return is_open(t);
    };
    caller.end = [&](const Trial &t, const CaseResult *result) {
        const std::lock_guard lock(mutex_);
        if (record(t, result)) tell_barred(*t.layer, t.variant);
        save();
    };
    caller.failed = [&](const Trial &t, const Error &e) {
        const std::lock_guard lock(mutex_);
        record_loss(t, e);
    };
    try {
        trials->run({trial}, caller);
    } catch (const Error &e) {
        if (e.code() != ErrorCode::memory) throw;
    }
}

// Whether a trial would add something to what is known of its variant.
bool Admission::is_open(const Trial &trial) const {
    const Verdicts::Admitted verdict = known(*trial.layer, trial.variant);
    if (verdict.barred()) return false;
    if (!trial.declared) return !verdict.shapes.contains(trial.text);
    const std::span tried(trial.layer->contract->cases, verdict.tried);
    return std::find(tried.begin(), tried.end(), trial.text) == tried.end();
}

// True if that bars the variant.
bool Admission::record(const Trial &trial, const CaseResult *result) {
    Verdicts::Admitted verdict = known(*trial.layer, trial.variant);
    if (result == nullptr || verdict.barred()) return false;
    if (trial.declared && (verdict.tried >= verdict.cases || trial.text != trial.layer->contract->cases[verdict.tried]))
        return false; // recorded meanwhile
    const bool passed = result->status == CaseResult::Status::passed;
    if (result->status == CaseResult::Status::failed) verdict.why = result->why, verdict.replay = result->replay;
    if (trial.declared)
        ++verdict.tried, verdict.passed += passed ? 1 : 0;
    else if (passed || verdict.barred())
        verdict.shapes.insert(trial.text);
    settle(*trial.layer, trial.variant, verdict);
    return verdict.barred();
}

// A trial in which the device was lost. Whatever the cause, a faster variant is not worth losing it again.
void Admission::record_loss(const Trial &trial, const Error &e) {
    if (e.code() != ErrorCode::device_lost || trial.variant == trial.layer->contract->variants[0].name) return;
    Verdicts::Admitted verdict = known(*trial.layer, trial.variant);
    verdict.why = e.what();
    settle(*trial.layer, trial.variant, verdict);
    tell_barred(*trial.layer, trial.variant);
}

// Saves what is known every second, so that a process that is killed loses little.
void Admission::settle(const abi::Layer &layer, const std::string &variant, const Verdicts::Admitted &verdict) {
    verdicts_.set(layer, variant, verdict);
    if (Clock::now() - saved_ > std::chrono::seconds(1)) save();
}

void Admission::save() {
    const std::string why = verdicts_.save();
    saved_ = Clock::now();
    if (!why.empty() && !std::exchange(unwritable_, true) && options_.notify)
        options_.notify("what was proved is not remembered: " + why);
}

void Admission::end_of_proof() {
    if (saying_ && options_.proving) options_.proving({});
    saying_ = false;
}

void Admission::tell_barred(const abi::Layer &layer, const std::string &variant) const {
    if (!options_.notify) return;
    const Verdicts::Admitted verdict = known(layer, variant);
    options_.notify("layer '" + std::string(layer.id()) + "': variant '" + variant + "' is barred on " + target_.name +
                    ": " + verdict.why + (verdict.replay.empty() ? "" : "; replay: " + verdict.replay));
}

// Why a variant cannot compute this step's shapes here; empty if it can. A plan that breaks its contract bars the
// variant.
std::string Admission::why_not_fit(const plan::Step &step, const std::string &variant) {
    try {
        return target_.why_not(step.call, variant).why;
    } catch (const Error &e) {
        if (e.code() != ErrorCode::plugin) throw;
        Verdicts::Admitted verdict = known(step.call.layer(), variant);
        if (!verdict.barred()) newly_barred_.emplace(step.call.layer().id(), variant);
        verdict.why = e.what();
        settle(step.call.layer(), variant, verdict);
        return e.what();
    }
}

// The cases like a step, for one variant: a smaller case must run all the pipelines that the step runs.
StepCases Admission::cases_of(const plan::Step &step, const std::string &variant) const {
    conformance::CheckTarget::Limits limits = target_.limits;
    limits.values = std::min(limits.values, room_);
    const std::set<std::string> of_step = target_.pipelines(step.call, variant);
    return cases_like(step.call, limits, [&](const abi::LayerCall &call) {
        const std::set<std::string> of_call = target_.pipelines(call, variant);
        return std::includes(of_call.begin(), of_call.end(), of_step.begin(), of_step.end());
    });
}

// What a variant has not passed yet of the cases like a step, and if `declared`, of those that its layer declares.
std::vector<Trial> Admission::missing(const plan::Step &step, const std::string &variant, bool declared) const {
    const abi::Layer &layer = step.call.layer();
    const Verdicts::Admitted verdict = known(layer, variant);
    std::vector<Trial> out;
    for (const conformance::Case &c : cases_of(step, variant).cases)
        if (Trial trial{&layer, variant, to_string(c), false}; !verdict.shapes.contains(trial.text))
            out.push_back(std::move(trial));
    for (size_t i = verdict.tried; declared && i < verdict.cases; ++i)
        out.push_back({&layer, variant, layer.contract->cases[i], true});
    return out;
}

// Proves a variant on the cases like a step, at the step's own size or the largest for which there is memory, and if
// `declared`, on those that its layer declares.
void Admission::prove(const plan::Step &step, const std::string &variant, bool declared,
                      const std::function<bool()> &go_on) {
    for (;;) {
        try {
            return try_all(missing(step, variant, declared), go_on);
        } catch (const Error &e) {
            const double values = std::min(room_, conformance::values_of(step.call));
            if (e.code() != ErrorCode::memory || values < least_room) throw;
            room_ = values / 2;
            if (options_.notify)
                options_.notify(
                    step.call.where() + ": variant '" + variant +
                    "' is proved at smaller sizes, because memory has no room for those of the step: " + e.what());
        }
    }
}

// Whether the cases like a step are enough for this variant to run it. They are for the baseline.
bool Admission::may_begin(const plan::Step &step, const conformance::CheckVariant &variant) const {
    return variant.baseline && cases_of(step, variant.name).alike;
}

// Proves what must be proved for the steps of a plan all at once, and the largest kernels first, because those take
// drivers longest to compile.
void Admission::prove_first_variants(const plan::GraphPlan &plan,
                                     const std::map<std::string, std::string, std::less<>> &asked) {
    std::set<Trial> known;
    std::vector<std::pair<size_t, Trial>> sized;
    for (const plan::Step &step : plan.steps) {
        if (asked.contains(step.call.layer().id())) continue;
        for (const conformance::CheckVariant &variant : target_.variants(step.call.layer())) {
            if (!why_not_fit(step, variant.name).empty()) continue;
            for (Trial &trial : missing(step, variant.name, !may_begin(step, variant)))
                if (known.insert(trial).second)
                    sized.emplace_back(target_.code_size(step.call, variant.name), std::move(trial));
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

// Whether a variant may run this step. If the cases like the step are enough, it need not have passed the declared
// ones. A variant that is `needed`, because there is no other, is proved however long it takes.
bool Admission::proved(const plan::Step &step, const conformance::CheckVariant &variant, bool needed) {
    const bool may_begin = this->may_begin(step, variant);
    if (variant.baseline || needed) prove(step, variant.name, !may_begin, [] { return true; });
    const auto began = Clock::now();
    prove(step, variant.name, true, [&] { return proving_ + (Clock::now() - began) < options_.proving_time; });
    proving_ += Clock::now() - began;
    const Verdicts::Admitted verdict = known(step.call.layer(), variant.name);
    if (verdict.barred() || (verdict.tried == verdict.cases && verdict.passed == 0)) return false;
    return missing(step, variant.name, !may_begin).empty();
}

// `who` may not run a step, because `variant` failed its proof.
Error Admission::failed_proof(const plan::Step &step, const std::string &who, const std::string &variant) const {
    const abi::Layer &layer = step.call.layer();
    const Verdicts::Admitted verdict = known(layer, variant);
    std::string text =
        step.call.where() + ": " + who + " may not run on " + target_.name + ", because variant '" + variant + "' " +
        (verdict.barred() ? "failed its proof:\n  " + verdict.why : "can run no case that would prove it");
    if (!verdict.replay.empty()) text += "\n  to see it: " + verdict.replay;
    return {ErrorCode::unproven, text + "\n  to prove it again: lamina check " + std::string(layer.id()) +
                                     " --admit --device " + target_.device + conformance::plugin_option(layer)};
}

// Throws if a requested variant may not run this step.
void Admission::expect_proved(const plan::Step &step, const std::string &variant) {
    const abi::Layer &layer = step.call.layer();
    prove(step, variant, true, [] { return true; });
    const Verdicts::Admitted verdict = known(layer, variant);
    if (verdict.barred() || (verdict.passed == 0 && verdict.shapes.empty()))
        throw failed_proof(step, "the variant that was requested", variant);
}

// The variants that can compute this step here and may run, in the contract's order.
std::vector<std::string> Admission::candidates(const plan::Step &step, std::set<std::string> *unproven) {
    const abi::Layer &layer = step.call.layer();
    const std::string id(layer.id());
    std::vector<std::string> out, failed, fit;
    std::string reasons;
    for (const conformance::CheckVariant &variant : target_.variants(layer)) {
        const std::string misfit = why_not_fit(step, variant.name);
        if (misfit.empty()) fit.push_back(variant.name);
        if (misfit.empty() && proved(step, variant, out.empty())) out.push_back(variant.name);
        if (known(layer, variant.name).barred() || (misfit.empty() && out.empty())) failed.push_back(variant.name);
        reasons += "; " + variant.name + ": " + misfit;
    }
    if (out.empty() && !target_.fallback.empty()) out.push_back(target_.fallback);
    if (out.empty() && unproven != nullptr && !fit.empty()) out.push_back(fit.front()), unproven->insert(id);
    if (out.empty() && !failed.empty()) throw failed_proof(step, "'" + id + "'", failed.front());
    if (out.empty())
        throw Error(ErrorCode::no_device,
                    step.call.where() + ": no variant of '" + id + "' can run on " + target_.name + reasons);
    for (const conformance::CheckVariant &variant : target_.variants(layer))
        if (newly_barred_.erase({id, variant.name}) != 0) tell_barred(layer, variant.name);
    return out;
}

std::string Admission::fastest(const plan::GraphPlan &plan, size_t s, plan::Backend &backend,
                               const std::vector<std::string> &candidates) {
    const plan::Step &step = plan.steps[s];
    if (candidates.size() == 1) return candidates.front();
    const std::string shapes = shapes_of(step);
    const std::string known = verdicts_.fastest(step.call.layer(), shapes);
    if (std::find(candidates.begin(), candidates.end(), known) != candidates.end()) return known;
    if (measuring_ > options_.proving_time) return candidates.front();

    const auto began = Clock::now();
    std::string best;
    auto best_time = Clock::duration::max();
    for (const std::string &variant : candidates) {
        plan::ProgramOptions options;
        options.variants = {variant};
        const auto program = backend.compile(plan::isolate(plan, s), options);
        const plan::Step &alone = program->plan().steps.front();
        for (size_t port = 0; port < alone.in.size(); ++port)
            if (alone.in[port] != plan::none && alone.call.bound(abi::PortList::in)[port] == port)
                program->write(alone.in[port], busy_values(alone, port).bytes());
        program->run(); // the first run is slower than the others
        for (int i = 0; i < 3; ++i) {
            const auto start = Clock::now();
            program->run();
            if (const auto time = Clock::now() - start; time < best_time) best_time = time, best = variant;
        }
    }
    measuring_ += Clock::now() - began;
    verdicts_.set_fastest(step.call.layer(), shapes, best);
    return best;
}

// Variants that may be faster come first; the baseline runs already.
void Admission::prove_rest_beside(const plan::GraphPlan &plan) {
    if (beside_ == nullptr) return;
    for (const bool baseline : {false, true})
        for (const plan::Step &step : plan.steps)
            for (const conformance::CheckVariant &v : target_.variants(step.call.layer()))
                if (v.baseline == baseline && why_not_fit(step, v.name).empty())
                    beside_->add(missing(step, v.name, true));
}

std::vector<std::string> Admission::choose(const plan::GraphPlan &plan, plan::Backend &backend,
                                           const std::map<std::string, std::string, std::less<>> &asked,
                                           std::set<std::string> *unproven) {
    const std::lock_guard lock(mutex_);
    const AtEnd saved([&] { save(); });
    prove_first_variants(plan, asked);
    std::vector<std::string> out;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const plan::Step &step = plan.steps[s];
        const auto named = asked.find(step.call.layer().id());
        if (named == asked.end() || named->second.empty()) {
            out.push_back(fastest(plan, s, backend, candidates(step, unproven)));
            continue;
        }
        out.push_back(named->second);
        const auto variants = target_.variants(step.call.layer());
        if (std::any_of(variants.begin(), variants.end(), [&](const auto &v) { return v.name == named->second; }))
            expect_proved(step, named->second); // for other names, compile() throws and lists the variants
    }
    end_of_proof();
    prove_rest_beside(plan);
    return out;
}

std::vector<Admission::Proof> Admission::redo(const std::vector<std::string> &layers,
                                              const std::function<void(const Proof &)> &progress) {
    const std::lock_guard lock(mutex_);
    const AtEnd saved([&] { save(); });
    for (const std::string &id : layers) (void)plugins_->layer(id); // throws if there is none
    std::vector<Proof> out;
    for (const auto &[id, layer] : plugins_->layers()) {
        if (!layers.empty() && std::find(layers.begin(), layers.end(), id) == layers.end()) continue;
        std::vector<std::vector<Trial>> of_variants;
        for (const conformance::CheckVariant &v : target_.variants(layer)) {
            std::vector<Trial> &trials = of_variants.emplace_back();
            for (const char *text : std::span(layer.contract->cases, layer.contract->n_cases))
                trials.push_back({&layer, v.name, text, true});
            for (const std::string &text : known(layer, v.name).shapes) trials.push_back({&layer, v.name, text, false});
        }
        verdicts_.forget(layer);
        for (const std::vector<Trial> &trials : of_variants) {
            try_all(trials, [] { return true; });
            const std::string &variant = trials.front().variant;
            out.push_back({id, variant, known(layer, variant)});
            save(); // now, because proving all takes minutes and a driver may crash
            if (progress) progress(out.back());
        }
    }
    newly_barred_.clear(); // the caller has heard of them
    end_of_proof();
    return out;
}

} // namespace lamina::admission
