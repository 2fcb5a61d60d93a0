#include "admission/findings.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace lamina::admission {
namespace {

std::span<const char *const> cases_of(const abi::Layer &layer) {
    return {layer.contract->cases, layer.contract->n_cases};
}

// Whether a case is one of the first `tried` of its layer.
bool is_among(const char *text, const abi::Layer &layer, size_t tried) {
    const auto first = cases_of(layer).first(std::min(tried, cases_of(layer).size()));
    return std::ranges::find(first, std::string_view(text)) != first.end();
}

bool is_baseline(const Trial &trial) {
    return trial.layer->pattern == nullptr && trial.variant == trial.layer->contract->variants[0].name;
}

} // namespace

Findings::Findings(const std::filesystem::path &file, const RuntimeOptions &options, std::string device)
    : options_(options), device_(std::move(device)), verdicts_(file) {}

Verdicts::Verdict Findings::known(const abi::Layer &layer, const std::string &variant) const {
    const Verdicts::Known *found = verdicts_.find(layer, variant);
    Verdicts::Verdict out = found != nullptr ? found->verdict : Verdicts::Verdict{};
    out.cases = layer.contract->n_cases; // also for a variant that was never tried
    return out;
}

Verdicts::Verdict Findings::verdict(const abi::Layer &layer, const std::string &variant) const {
    const std::lock_guard lock(mutex_);
    return known(layer, variant);
}

std::set<std::string> Findings::shapes(const abi::Layer &layer, const std::string &variant) const {
    const std::lock_guard lock(mutex_);
    const Verdicts::Known *found = verdicts_.find(layer, variant);
    return found != nullptr ? found->shapes : std::set<std::string>{};
}

bool Findings::has_shape(const abi::Layer &layer, const std::string &variant, const std::string &text) const {
    const std::lock_guard lock(mutex_);
    const Verdicts::Known *found = verdicts_.find(layer, variant);
    return found != nullptr && found->shapes.contains(text);
}

bool Findings::is_open(const Trial &trial) const {
    const Verdicts::Verdict verdict = this->verdict(*trial.layer, trial.variant);
    if (verdict.barred()) return false;
    return trial.declared ? !is_among(trial.text.c_str(), *trial.layer, verdict.tried)
                          : !has_shape(*trial.layer, trial.variant, trial.text);
}

void Findings::record(const Trial &trial, const CaseResult *result) {
    const std::lock_guard lock(mutex_);
    Verdicts::Verdict verdict = known(*trial.layer, trial.variant);
    if (result == nullptr || verdict.barred()) return;
    const auto cases = cases_of(*trial.layer);
    if (trial.declared && (verdict.tried >= cases.size() || trial.text != cases[verdict.tried]))
        return; // recorded meanwhile
    const bool passed = result->status == CaseResult::Status::passed;
    if (result->status == CaseResult::Status::failed) verdict.why = result->why, verdict.replay = result->replay;
    const bool is_shape = !trial.declared && (passed || verdict.barred());
    if (trial.declared) {
        verdict.passed += passed ? 1 : 0;
        do ++verdict.tried; // a case may be listed twice
        while (verdict.tried < cases.size() && is_among(cases[verdict.tried], *trial.layer, verdict.tried));
    }
    keep(*trial.layer, trial.variant, verdict, is_shape ? trial.text : "",
         result->broke && is_baseline(trial) ? Verdicts::Where::here : Verdicts::Where::file);
}

void Findings::record(const Trial &trial, const Error &error) {
    if (error.code() == ErrorCode::device_lost && !is_baseline(trial)) bar(*trial.layer, trial.variant, error.what());
}

void Findings::bar(const abi::Layer &layer, const std::string &variant, const std::string &why) {
    const std::lock_guard lock(mutex_);
    Verdicts::Verdict verdict = known(layer, variant);
    if (verdict.barred()) return;
    verdict.why = why;
    keep(layer, variant, verdict);
}

void Findings::keep(const abi::Layer &layer, const std::string &variant, const Verdicts::Verdict &verdict,
                    const std::string &shape, Verdicts::Where where) {
    verdicts_.set(layer, variant, verdict, shape, where);
    if (verdict.barred()) untold_.emplace(layer.id(), variant);
    if (Clock::now() - saved_ > std::chrono::seconds(1)) save_now();
}

void Findings::forget(const abi::Layer &layer) {
    const std::lock_guard lock(mutex_);
    verdicts_.forget(layer);
}

void Findings::tell_barred(const abi::Layer &layer) {
    const std::lock_guard lock(mutex_);
    const std::string id(layer.id());
    for (auto next = untold_.lower_bound({id, ""}); next != untold_.end() && next->first == id;) {
        const Verdicts::Verdict verdict = known(layer, next->second);
        if (options_.notify)
            options_.notify("layer '" + id + "': variant '" + next->second + "' is barred on " + device_ + ": " +
                            verdict.why + (verdict.replay.empty() ? "" : "; replay: " + verdict.replay));
        next = untold_.erase(next);
    }
}

void Findings::told_all() {
    const std::lock_guard lock(mutex_);
    untold_.clear();
}

std::string Findings::fastest(const abi::Layer &layer, const std::string &shapes) const {
    const std::lock_guard lock(mutex_);
    return verdicts_.fastest(layer, shapes);
}

std::string Findings::usually_fastest(const abi::Layer &layer, const std::vector<std::string> &candidates) const {
    const std::lock_guard lock(mutex_);
    const auto wins = [&](const std::string &variant) { return verdicts_.times_fastest(layer, variant); };
    return *std::ranges::max_element(candidates, {}, wins);
}

void Findings::set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant) {
    const std::lock_guard lock(mutex_);
    verdicts_.set_fastest(layer, shapes, variant);
}

void Findings::save() {
    const std::lock_guard lock(mutex_);
    save_now();
}

void Findings::save_now() {
    const std::string why = verdicts_.save();
    saved_ = Clock::now();
    if (!why.empty() && !std::exchange(unwritable_, true) && options_.notify)
        options_.notify("what was proved is not remembered: " + why);
}

} // namespace lamina::admission
