// What Admission proves in the background, for later runs.
#include "admission/admission.hpp"

namespace lamina::admission {

// Variants that may be faster come first; the baseline runs already.
void Admission::prove_rest_in_background(const std::vector<const plan::Step *> &steps, Precision precision) {
    if (background_ == nullptr) return;
    for (const bool baseline : {false, true})
        for (const plan::Step *step : steps)
            for (const plan::Variant &v : variants_for(*step, precision))
                if (v.baseline == baseline && why_not_fit(*step, v.name).empty())
                    background_->add(missing(*step, v.name, true));
}

// On the thread of background_. While a run waits for proofs, this waits, too. An open device of a software driver
// keeps every kernel that it has compiled, in megabytes, so each trial has one of its own.
void Admission::try_in_background(const Trial &trial) {
    std::shared_ptr<plan::Device> device;
    {
        const std::lock_guard lock(mutex_);
        device = device_->another();
    }
    Trials::Caller caller;
    caller.begin = [&](const Trial &t) { return findings_.is_open(t); };
    caller.end = [&](const Trial &t, const CaseResult *result) {
        findings_.record(t, result);
        findings_.tell_barred(*t.layer);
        findings_.save();
    };
    caller.failed = [&](const Trial &t, const Error &e) {
        findings_.record(t, e);
        findings_.tell_barred(*t.layer);
    };
    try {
        Trials(device).run({trial}, caller);
    } catch (const Error &e) {
        if (e.code() != ErrorCode::memory) throw;
    }
}

} // namespace lamina::admission
