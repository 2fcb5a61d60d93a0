// lamina::admit() and lamina::proved() of proof.hpp.
#include <lamina/proof.hpp>

#include "api/access.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace lamina {
namespace {

std::shared_ptr<admission::Admission> admission_on(const Runtime &runtime, const Device &device) {
    auto admission = detail::Access::state(runtime)->admission(device);
    if (admission == nullptr)
        throw Error(ErrorCode::usage, "there is nothing to admit on " + device.id +
                                          ": layers run their references there; name a Vulkan device or cpu");
    return admission;
}

AdmittedVariant as_public(const admission::Admission::Proof &proof, const Device &device) {
    const admission::Verdicts::Verdict &verdict = proof.verdict;
    AdmittedVariant out;
    out.layer = proof.layer;
    out.variant = proof.variant;
    out.device = device.id;
    out.passed = verdict.passed;
    out.admitted = verdict.complete();
    out.why = verdict.why + (verdict.replay.empty() ? "" : "; replay: " + verdict.replay);
    out.tried = verdict.tried;
    out.cases = verdict.cases;
    out.of_models = verdict.barred() ? 0 : proof.shapes; // else the one that barred it is among them
    return out;
}

} // namespace

std::vector<AdmittedVariant> admit(const Runtime &runtime, const Device &device, const std::vector<std::string> &layers,
                                   const std::function<void(const AdmittedVariant &)> &progress) {
    std::vector<AdmittedVariant> out;
    (void)admission_on(runtime, device)->redo(layers, [&](const admission::Admission::Proof &proof) {
        out.push_back(as_public(proof, device));
        if (progress) progress(out.back());
    });
    return out;
}

std::vector<AdmittedVariant> proved(const Runtime &runtime, const Device &device,
                                    const std::vector<std::string> &layers) {
    std::vector<AdmittedVariant> out;
    for (const Device &part : device.parts) std::ranges::move(proved(runtime, part, layers), std::back_inserter(out));
    if (!device.parts.empty()) return out;
    for (const admission::Admission::Proof &proof : admission_on(runtime, device)->known(layers))
        out.push_back(as_public(proof, device));
    return out;
}

} // namespace lamina
