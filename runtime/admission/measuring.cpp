// Whether there is time to measure, and whether a fusion is faster than what it replaces.
#include "admission/admission.hpp"
#include "admission/timing.hpp"

#include <algorithm>

namespace lamina::admission {
namespace {

// How long a process measures which variant is fastest, beside options.proving_time. On a software driver, whose
// kernels take long to compile, each process measures one more step.
constexpr std::chrono::milliseconds usual_measuring{100};

} // namespace

bool Admission::may_measure() const { return measuring_ < usual_measuring + proving_time_; }

// Whether a fusion runs where it matches. What was measured is kept with the variants that the other layers had then.
bool Admission::worthwhile(const plan::GraphPlan &plan, const fusion::Match &match, plan::Backend &backend,
                           const Wanted &wanted) {
    const abi::Layer &layer = match.fused.call.layer();
    if (const auto named = wanted.variants.find(layer.id()); named != wanted.variants.end()) {
        const auto variants = device_->variants(layer);
        return std::ranges::find(variants, named->second, &plan::Variant::name) != variants.end() &&
               why_not_fit(match.fused, named->second).empty();
    }
    for (const size_t s : match.steps)
        if (wanted.variants.contains(plan.steps[s].call.layer().id())) return false; // it is to be seen

    std::vector<std::string> fused;
    for (const plan::Variant &variant : variants_for(match.fused, wanted.precision))
        if (why_not_fit(match.fused, variant.name).empty() && proved(match.fused, variant, false, time_of_fusions()))
            fused.push_back(variant.name);
    findings_.tell_barred(layer);
    if (fused.empty()) return false;

    std::vector<size_t> steps = match.steps;
    std::ranges::sort(steps);
    const plan::GraphPlan apart = plan::section(plan, steps).plan;
    const std::vector<std::string> variants = choose_all(apart, backend, wanted, nullptr);
    constexpr const char *other_layers = "other layers";
    std::string shapes = shapes_of(match.fused) + " beside";
    for (const std::string &variant : variants) shapes += " " + variant;
    shapes += " of";
    for (const std::string &variant : fused) shapes += " " + variant;
    const std::string known = findings_.fastest(layer, shapes);
    if (known == other_layers || std::ranges::find(fused, known) != fused.end()) return known != other_layers;
    if (!may_measure()) return false;

    const auto began = Clock::now();
    const auto alone = fusion::find(apart, *device_->plugins(), [&](const abi::Layer &l) { return &l == &layer; });
    const plan::GraphPlan together = fusion::fuse(apart, alone);
    std::string best = other_layers;
    double least = seconds_of(apart, backend, variants);
    for (const std::string &variant : fused)
        if (const double seconds = seconds_of(together, backend, {variant}); seconds < least)
            least = seconds, best = variant;
    measuring_ += Clock::now() - began;
    findings_.set_fastest(layer, shapes, best);
    return best != other_layers;
}

} // namespace lamina::admission
