// lamina::admit() of proof.hpp.
#include <lamina/proof.hpp>

#include "api/access.hpp"

#include <functional>

namespace lamina {

std::vector<AdmittedVariant> admit(const Runtime &runtime, const Device &device, const std::vector<std::string> &layers,
                                   const std::function<void(const AdmittedVariant &)> &progress) {
    const auto admission = detail::Access::state(runtime)->admission(device);
    if (admission == nullptr)
        throw Error(ErrorCode::usage, "there is nothing to admit on " + device.id +
                                          ": layers run their references there; name a Vulkan device or cpu");
    std::vector<AdmittedVariant> out;
    (void)admission->redo(layers, [&](const admission::Admission::Proof &proof) {
        const admission::Verdicts::Verdict &verdict = proof.verdict;
        const std::string replay = verdict.replay.empty() ? "" : "; replay: " + verdict.replay;
        out.push_back({proof.layer, proof.variant, verdict.passed, verdict.complete(), verdict.why + replay});
        if (progress) progress(out.back());
    });
    return out;
}

} // namespace lamina
