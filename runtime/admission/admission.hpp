// Decides which variants may run on a device and which of them is fastest, and remembers it.
#pragma once

#include "abi/library.hpp"
#include "admission/step_case.hpp"
#include "admission/verdicts.hpp"
#include "conformance/target.hpp"
#include "plan/graph_plan.hpp"
#include "plan/program.hpp"

#include <lamina/lamina.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace lamina::admission {

// Before a variant is used on this device, it must agree with the reference on its layer's own cases, and on cases made
// from the step (with the same dims, as far as time allows). A variant that fails is barred. If several have passed,
// the one that is fastest on the step's shapes is used. Verdicts and timings are kept on disk, keyed by device, driver
// version and the bytes of the plugin.
//
// Proving takes time, mostly in the driver's compiler. A process spends RuntimeOptions::proving_time on it, and later
// processes continue where it stopped. Until then the baseline runs, as soon as its first case and those like the step
// have passed. If the baseline cannot run, the first variant that can is proved at once. A variant that could not run
// any case is not proved, and does not run.
//
// If the device is lost while a variant is proved, Error(device_lost) is thrown and the variant is barred, unless it is
// the baseline, which nothing can replace.
class Admission {
  public:
    // file: where verdicts are kept; empty: nowhere. Uses the options `notify`, `proving` and `proving_time`.
    Admission(std::shared_ptr<const abi::Registry> plugins, conformance::CheckTarget target,
              const std::filesystem::path &file, const RuntimeOptions &options);

    // The variant for each step, as ProgramOptions::variants. `asked` requests variants by layer id; they must be
    // admitted, too. Throws Error(unproven) if a requested variant, or every variant of a layer that can compute the
    // step, failed its proof; Error(no_device) if none can compute the step. If `unproven` is given, a layer without
    // an admitted variant is added there instead, and the first of them that can compute the step is chosen.
    [[nodiscard]] std::vector<std::string> choose(const plan::GraphPlan &plan, plan::Backend &backend,
                                                  const std::map<std::string, std::string, std::less<>> &asked,
                                                  std::set<std::string> *unproven = nullptr);

    // Continues on the same device after it was lost and reopened. What was proved stays proved.
    void move_to(conformance::CheckTarget target);

    // Proves every variant of these layers (all, if empty) from scratch, on all their cases and those like the steps of
    // models that were run here, however long it takes.
    struct Proof {
        std::string layer, variant;
        Verdicts::Admitted verdict;
    };
    std::vector<Proof> redo(const std::vector<std::string> &layers,
                            const std::function<void(const Proof &)> &progress = {});

  private:
    using Clock = std::chrono::steady_clock;
    void settle(const abi::Layer &layer, const std::string &variant, const Verdicts::Admitted &verdict);
    void save();
    void end_of_proof();
    void tell_barred(const abi::Layer &layer, const std::string &variant) const;
    [[nodiscard]] Verdicts::Admitted known(const abi::Layer &layer, const std::string &variant) const;
    // Runs one case and adds the result to the verdict; false if it did not pass. `what` is for people.
    bool try_case(const abi::Layer &layer, const std::string &variant, const std::string &text, const std::string &what,
                  Verdicts::Admitted &verdict);
    // Continues with the layer's own cases until `least` have passed, the variant is barred, or there are no more; then
    // runs as many as there is time for.
    Verdicts::Admitted prove(const abi::Layer &layer, const std::string &variant, size_t least);
    // Runs cases like a step, if there is time or it `must`.
    Verdicts::Admitted prove_like(const abi::Layer &layer, const std::string &variant,
                                  const std::vector<std::string> &texts, bool must);
    // The same for a step: at its own size, or the largest for which there is memory. Returns the cases.
    std::vector<std::string> prove_step(const plan::Step &step, const std::string &variant, bool must);
    [[nodiscard]] bool in_time() const;
    [[nodiscard]] StepCases cases_of(const plan::Step &step, const std::string &variant) const;
    [[nodiscard]] std::string why_not_fit(const plan::Step &step, const std::string &variant);
    [[nodiscard]] bool proved(const plan::Step &step, const conformance::CheckVariant &variant, bool needed);
    void expect_proved(const plan::Step &step, const std::string &variant);
    [[nodiscard]] Error failed_proof(const plan::Step &step, const std::string &who, const std::string &variant) const;
    [[nodiscard]] std::vector<std::string> candidates(const plan::Step &step, std::set<std::string> *unproven);
    [[nodiscard]] std::string fastest(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                                      const std::vector<std::string> &candidates);

    std::mutex mutex_; // guards all below
    std::shared_ptr<const abi::Registry> plugins_;
    conformance::CheckTarget target_;
    Verdicts verdicts_;
    const RuntimeOptions options_;
    double room_ = std::numeric_limits<double>::infinity(); // values of a case for which memory was found so far
    Clock::duration proving_{}, measuring_{};               // time spent in this process
    Clock::time_point saved_ = Clock::now();
    bool saying_ = false;     // RuntimeOptions::proving has been called, and not yet for the end
    bool unwritable_ = false; // it was said that the file cannot be written
};

} // namespace lamina::admission
