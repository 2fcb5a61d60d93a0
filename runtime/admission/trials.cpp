#include "admission/trials.hpp"

#include "base/available_memory.hpp"
#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "conformance/case_graph.hpp"
#include "conformance/check.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <optional>

namespace lamina::admission {
namespace {

// The host's memory, which cases that run at the same time share.
class Memory {
  public:
    // A part of it. Waits for other cases to end, unless there is room for all.
    class Part {
      public:
        Part(Memory &memory, double bytes) : memory_(memory), bytes_(bytes) {
            std::unique_lock lock(memory.mutex_);
            memory.given_back_.wait(lock, [&] { return memory.taken_ == 0 || memory.taken_ + bytes <= memory.free_; });
            memory.taken_ += bytes;
        }
        ~Part() {
            const std::lock_guard lock(memory_.mutex_);
            memory_.taken_ -= bytes_;
            memory_.given_back_.notify_all();
        }
        Part(const Part &) = delete;
        Part &operator=(const Part &) = delete;

      private:
        Memory &memory_;
        double bytes_;
    };

  private:
    const double free_ = static_cast<double>(available_memory().value_or(std::numeric_limits<uint64_t>::max()));
    std::mutex mutex_;
    std::condition_variable given_back_;
    double taken_ = 0;
};

double bytes_of(const Trial &trial) {
    return conformance::host_bytes(
        conformance::call_of(*trial.layer, conformance::parse_case(*trial.layer->contract, trial.text)));
}

} // namespace

Trials::Trials(std::shared_ptr<plan::Device> device) : lanes_{std::move(device)} {}

plan::Device &Trials::lane(size_t thread) {
    const std::lock_guard lock(mutex_);
    while (lanes_.size() <= thread) lanes_.push_back(lanes_.front()->another());
    return *lanes_[thread];
}

void Trials::run(const std::vector<Trial> &trials, const Caller &caller, size_t at_once) {
    std::mutex turn; // to call, and of all below
    std::vector<std::optional<CaseResult>> results(trials.size());
    std::vector<bool> ended(trials.size(), false);
    size_t next = 0;
    const auto end_in_order = [&] {
        for (; next < trials.size() && ended[next]; ++next)
            caller.end(trials[next], results[next] ? &*results[next] : nullptr);
    };
    const auto run_one = [&](const Trial &trial, size_t thread) {
        CheckOptions options;
        options.layers = {std::string(trial.layer->id())};
        options.variants = {trial.variant};
        options.case_text = trial.text;
        return conformance::check(lane(thread), options).results.front();
    };
    Memory memory;
    const auto try_one = [&](size_t i, size_t thread) {
        const Trial &trial = trials[i];
        std::optional<CaseResult> result;
        std::exception_ptr failure;
        try {
            std::unique_lock lock(turn);
            if (caller.begin(trial)) {
                lock.unlock();
                const Memory::Part part(memory, bytes_of(trial));
                result = run_one(trial, thread);
            }
        } catch (const Error &e) {
            failure = std::current_exception();
            const std::lock_guard lock(turn);
            caller.failed(trial, e);
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(turn);
        results[i] = std::move(result);
        ended[i] = true; // also after an error, so that the results of those behind it count
        end_in_order();
        if (failure) std::rethrow_exception(failure);
    };
    in_parallel(trials.size(), lanes_.front()->parallel() ? std::min(cores(), at_once) : 1, try_one);
}

} // namespace lamina::admission
