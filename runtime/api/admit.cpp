// lamina::admit() of proof.hpp.
#include <lamina/proof.hpp>

#include "api/access.hpp"

#include <functional>

namespace lamina {

std::vector<AdmittedVariant> admit(const Runtime &runtime, const Device &device, const std::vector<std::string> &layers,
                                   const std::function<void(const AdmittedVariant &)> &progress) {
    const auto admission = detail::Access::state(runtime)->admission(device);
    if (admission == nullptr)
        throw Error(ErrorCode::usage, "nothing is admitted on " + device.id +
                                          ": on the CPU layers run by their references, and its fast kernels are "
                                          "checked by 'lamina check --device cpu'; name a Vulkan device");
    std::vector<AdmittedVariant> out;
    (void)admission->redo(layers, [&](const admission::Admission::Proof &proof) {
        out.push_back({proof.layer, proof.variant, proof.verdict.passed, proof.verdict.complete(), proof.verdict.why});
        if (progress) progress(out.back());
    });
    return out;
}

} // namespace lamina
