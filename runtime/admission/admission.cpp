#include "admission/admission.hpp"

#include "conformance/check.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace lamina::admission {
namespace {

constexpr size_t all_cases = SIZE_MAX;
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

std::vector<std::string> texts_of(const std::vector<conformance::Case> &cases) {
    std::vector<std::string> out;
    for (const conformance::Case &c : cases) out.push_back(to_string(c));
    return out;
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

} // namespace

Admission::Admission(std::shared_ptr<const abi::Registry> plugins, conformance::CheckTarget target,
                     const std::filesystem::path &file, const RuntimeOptions &options)
    : plugins_(std::move(plugins)), target_(std::move(target)), verdicts_(file), options_(options) {}

void Admission::move_to(conformance::CheckTarget target) {
    const std::lock_guard lock(mutex_);
    target_ = std::move(target);
}

Verdicts::Admitted Admission::known(const abi::Layer &layer, const std::string &variant) const {
    const Verdicts::Admitted *found = verdicts_.find(layer, variant);
    Verdicts::Admitted out = found != nullptr ? *found : Verdicts::Admitted{};
    out.cases = layer.contract->n_cases; // also for a variant that was never tried
    return out;
}

bool Admission::in_time() const { return proving_ < options_.proving_time; }

bool Admission::try_case(const abi::Layer &layer, const std::string &variant, const std::string &text,
                         const std::string &what, Verdicts::Admitted &verdict) {
    const auto began = Clock::now();
    CheckOptions options;
    options.layers = {std::string(layer.id())};
    options.variants = {variant};
    options.case_text = text;
    settle(layer, variant, verdict);
    if (options_.proving) options_.proving(std::string(layer.id()) + ", " + variant + ": " + what);
    saying_ = true;
    CaseResult result;
    try {
        result = conformance::check(plugins_, target_, options).results.front();
    } catch (const std::exception &e) {
        const auto *error = dynamic_cast<const Error *>(&e);
        const bool lost = error != nullptr && error->code() == ErrorCode::device_lost;
        // Whatever the cause, a faster variant is not worth losing the device again.
        if (lost && variant != layer.contract->variants[0].name) verdict.why = e.what();
        settle(layer, variant, verdict);
        if (verdict.barred()) tell_barred(layer, variant);
        throw;
    }
    proving_ += Clock::now() - began;
    if (result.status == CaseResult::Status::failed) verdict.why = result.why, verdict.replay = result.replay;
    return result.status == CaseResult::Status::passed;
}

Verdicts::Admitted Admission::prove(const abi::Layer &layer, const std::string &variant, size_t least) {
    Verdicts::Admitted verdict = known(layer, variant);
    const size_t before = verdict.tried;
    while (!verdict.barred() && verdict.tried < verdict.cases && (verdict.passed < least || in_time())) {
        const std::string text = layer.contract->cases[verdict.tried];
        const std::string what = "case " + std::to_string(verdict.tried + 1) + " of " + std::to_string(verdict.cases);
        verdict.passed += try_case(layer, variant, text, what, verdict) ? 1 : 0;
        ++verdict.tried;
    }
    if (verdict.tried != before) settle(layer, variant, verdict);
    return verdict;
}

Verdicts::Admitted Admission::prove_like(const abi::Layer &layer, const std::string &variant,
                                         const std::vector<std::string> &texts, bool must) {
    Verdicts::Admitted verdict = known(layer, variant);
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::string &text = texts[i];
        if (verdict.barred() || verdict.shapes.contains(text) || !(must || in_time())) continue;
        const std::string what =
            "shapes of the model, " + std::to_string(i + 1) + " of " + std::to_string(texts.size());
        if (try_case(layer, variant, text, what, verdict) || verdict.barred()) verdict.shapes.insert(text);
        settle(layer, variant, verdict);
    }
    return verdict;
}

std::vector<std::string> Admission::prove_step(const plan::Step &step, const std::string &variant, bool must) {
    for (;;) {
        const std::vector<std::string> texts = texts_of(cases_of(step, variant).cases);
        try {
            (void)prove_like(step.call.layer(), variant, texts, must);
            return texts;
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

// Whether a variant may run this step. If there are cases like the step, the baseline need not have passed all declared
// ones. A variant that is `needed`, because there is no other, is proved however long it takes.
bool Admission::proved(const plan::Step &step, const conformance::CheckVariant &variant, bool needed) {
    const abi::Layer &layer = step.call.layer();
    if (known(layer, variant.name).barred()) return false;
    const bool may_begin = variant.baseline && cases_of(step, variant.name).alike;
    (void)prove(layer, variant.name, may_begin ? 1 : variant.baseline || needed ? all_cases : 0);
    const std::vector<std::string> like = prove_step(step, variant.name, variant.baseline || needed);
    const Verdicts::Admitted verdict = known(layer, variant.name);
    if (verdict.barred() || (verdict.tried == verdict.cases && verdict.passed == 0)) return false;
    const bool like_this =
        std::all_of(like.begin(), like.end(), [&](const std::string &text) { return verdict.shapes.contains(text); });
    return like_this && (may_begin ? verdict.passed != 0 : verdict.complete());
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
    (void)prove(layer, variant, all_cases);
    (void)prove_step(step, variant, true);
    const Verdicts::Admitted verdict = known(layer, variant);
    if (verdict.barred() || (verdict.passed == 0 && verdict.shapes.empty()))
        throw failed_proof(step, "the variant that was requested", variant);
}

// The variants that can compute this step here and may run, in the contract's order.
std::vector<std::string> Admission::candidates(const plan::Step &step, std::set<std::string> *unproven) {
    const abi::Layer &layer = step.call.layer();
    const std::string id(layer.id());
    std::vector<std::string> out, newly_barred, failed, fit;
    std::string reasons;
    for (const conformance::CheckVariant &variant : target_.variants(layer)) {
        const bool was_barred = known(layer, variant.name).barred();
        const std::string misfit = why_not_fit(step, variant.name);
        if (misfit.empty()) fit.push_back(variant.name);
        if (misfit.empty() && proved(step, variant, out.empty())) out.push_back(variant.name);
        const bool barred = known(layer, variant.name).barred();
        if (barred && !was_barred) newly_barred.push_back(variant.name);
        if (barred || (misfit.empty() && out.empty())) failed.push_back(variant.name);
        reasons += "; " + variant.name + ": " + misfit;
    }
    if (out.empty() && !target_.fallback.empty()) out.push_back(target_.fallback);
    if (out.empty() && unproven != nullptr && !fit.empty()) out.push_back(fit.front()), unproven->insert(id);
    if (out.empty() && !failed.empty()) throw failed_proof(step, "'" + id + "'", failed.front());
    if (out.empty())
        throw Error(ErrorCode::no_device,
                    step.call.where() + ": no variant of '" + id + "' can run on " + target_.name + reasons);
    for (const std::string &variant : newly_barred) tell_barred(layer, variant);
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

std::vector<std::string> Admission::choose(const plan::GraphPlan &plan, plan::Backend &backend,
                                           const std::map<std::string, std::string, std::less<>> &asked,
                                           std::set<std::string> *unproven) {
    const std::lock_guard lock(mutex_);
    const AtEnd saved([&] { save(); });
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
        // By variant: the cases like the steps of models that ran here.
        std::vector<std::pair<std::string, std::set<std::string>>> like;
        for (const conformance::CheckVariant &v : target_.variants(layer))
            like.emplace_back(v.name, known(layer, v.name).shapes);
        verdicts_.forget(layer);
        for (const auto &[variant, texts] : like) {
            (void)prove(layer, variant, all_cases);
            out.push_back({id, variant, prove_like(layer, variant, {texts.begin(), texts.end()}, true)});
            save(); // now, because proving all takes minutes and a driver may crash
            if (progress) progress(out.back());
        }
    }
    end_of_proof();
    return out;
}

} // namespace lamina::admission
