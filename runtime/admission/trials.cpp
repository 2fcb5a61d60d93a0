#include "admission/trials.hpp"

#include "base/parallel.hpp"
#include "conformance/check.hpp"

#include <optional>

namespace lamina::admission {

Trials::Trials(std::shared_ptr<const abi::Registry> plugins, const conformance::CheckTarget &target)
    : plugins_(std::move(plugins)), lanes_{target} {}

const conformance::CheckTarget &Trials::lane(size_t thread) {
    const std::lock_guard lock(mutex_);
    while (lanes_.size() <= thread) lanes_.push_back(lanes_.front().another());
    return lanes_[thread]; // a deque's elements stay where they are
}

void Trials::run(const std::vector<Trial> &trials, const Caller &caller) {
    std::mutex turn; // to call, and of all below
    std::vector<std::optional<CaseResult>> results(trials.size());
    std::vector<bool> ended(trials.size(), false);
    size_t next = 0;
    const auto end_in_order = [&] {
        for (; next < trials.size() && ended[next]; ++next)
            caller.end(trials[next], results[next] ? &*results[next] : nullptr);
    };
    const auto run_one = [&](size_t i, size_t thread) {
        const Trial &trial = trials[i];
        bool wanted = false;
        {
            const std::lock_guard lock(turn);
            wanted = caller.begin(trial);
        }
        std::optional<CaseResult> result;
        if (wanted) try {
                CheckOptions options;
                options.layers = {std::string(trial.layer->id())};
                options.variants = {trial.variant};
                options.case_text = trial.text;
                result = conformance::check(plugins_, lane(thread), options).results.front();
            } catch (const Error &e) {
                const std::lock_guard lock(turn);
                caller.failed(trial, e);
                throw;
            }
        const std::lock_guard lock(turn);
        results[i] = std::move(result);
        ended[i] = true;
        end_in_order();
    };
    in_parallel(trials.size(), lanes_.front().another ? cores() : 1, run_one);
}

} // namespace lamina::admission
