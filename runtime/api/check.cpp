// lamina::check() of proof.hpp.
#include <lamina/proof.hpp>

#include "api/access.hpp"
#include "conformance/check.hpp"
#include "interpreter/device.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace lamina {

size_t CheckReport::count(CaseResult::Status status) const {
    return static_cast<size_t>(
        std::count_if(results.begin(), results.end(), [&](const CaseResult &r) { return r.status == status; }));
}

bool CheckReport::passed() const {
    return count(CaseResult::Status::passed) != 0 && count(CaseResult::Status::failed) == 0 && unproved().empty();
}

std::string CheckReport::summary(const Device &device) const {
    const size_t failed = count(CaseResult::Status::failed), skipped = count(CaseResult::Status::skipped);
    const std::string place = device.id + (device.name.empty() ? "" : " (" + device.name + ")");
    if (results.empty())
        return "nothing to check on " + place + ": these layers run their references there; name a GPU, like vulkan:0";
    const std::string beside = skipped == 0 ? "" : ", " + std::to_string(skipped) + " skipped";
    if (failed != 0)
        return std::to_string(failed) + (failed == 1 ? " case of " : " cases of ") + std::to_string(results.size()) +
               " on " + place + " failed" + beside;
    if (const auto unknown = unproved(); !unknown.empty())
        return "nothing is known about " + unknown.front() + ": it skipped every case on " + place;
    const size_t agree = count(CaseResult::Status::passed);
    if (agree == 0) return "nothing was checked on " + place + ": every case was skipped";
    return std::to_string(agree) + (agree == 1 ? " case on " : " cases on ") + place + " agree with the references" +
           beside;
}

std::vector<std::string> CheckReport::unproved() const {
    struct Count {
        size_t all = 0, skipped = 0;
        bool missing = false;
    };
    std::map<std::string, Count> counts; // by layer and variant
    for (const CaseResult &r : results) {
        Count &count = counts[r.layer + ", " + r.variant];
        ++count.all;
        count.skipped += r.status == CaseResult::Status::skipped ? 1 : 0;
        count.missing |= r.missing;
    }
    std::vector<std::string> out;
    for (const auto &[name, count] : counts)
        if (count.all > 1 && count.skipped == count.all && !count.missing) out.push_back(name);
    return out;
}

CheckReport check(const Runtime &runtime, const Device &device, const CheckOptions &wanted,
                  const std::function<void(const CaseResult &)> &progress) {
    detail::RuntimeState &state = *detail::Access::state(runtime);
    CheckOptions options = wanted;
    options.begin = [&](const std::string &what, size_t done, size_t all) {
        state.working();
        if (wanted.begin) wanted.begin(what, done, all);
    };
    const std::shared_ptr<plan::Device> opened =
        device.kind == "interpreter" ? interpreter::make_device(state.plugins) : state.open(device);
    try {
        return conformance::check(*opened, options, progress);
    } catch (const Error &e) {
        if (e.code() == ErrorCode::device_lost) state.forget(device, opened); // the next check opens it again
        throw;
    }
}

} // namespace lamina
