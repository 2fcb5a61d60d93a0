// lamina::check() of proof.hpp: which target a device is.
#include <lamina/proof.hpp>

#include "proof/check.hpp"
#include "session/state.hpp"

#include <algorithm>

namespace lamina {

size_t CheckReport::count(CaseResult::Status status) const {
    return static_cast<size_t>(
        std::count_if(results.begin(), results.end(), [&](const CaseResult &r) { return r.status == status; }));
}

bool CheckReport::passed() const {
    return count(CaseResult::Status::passed) != 0 && count(CaseResult::Status::failed) == 0;
}

CheckReport check(const Runtime &runtime, const Device &device, const CheckOptions &options,
                  const std::function<void(const CaseResult &)> &progress) {
    detail::RuntimeState &state = *detail::Access::state(runtime);
    const proof::CheckTarget target = device.kind == "cpu" ? proof::check_target(state.plugins)
                                                           : proof::check_target(state.plugins, state.open(device));
    return proof::check(state.plugins, target, options, progress);
}

} // namespace lamina
