// Which variants may run on a device, and which is fastest: proved here, measured here, remembered.
#pragma once

#include "abi/library.hpp"
#include "admission/step_case.hpp"
#include "admission/verdicts.hpp"
#include "conformance/target.hpp"
#include "plan/graph_plan.hpp"
#include "plan/program.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lamina::admission {

// Each variant is run on its layer's own cases on this device, against the reference, and on cases like the step at
// hand, of the same dims as far as time allows. One that fails is barred, and the next one taken. Of several that have
// passed all of this the fastest on the shapes at hand is taken. Verdicts and times are remembered on disk by device,
// driver version and the bytes of the plugin.
//
// Proving takes time, most of it the driver's compiler. A process spends about two seconds on it, and later ones go on
// where it stopped. Until then the baseline runs when at least its first case has passed and those like the step, and
// no other variant does, unless the baseline cannot: then the first one that can is proved at once. A variant that none
// of the cases could be run with is not proved by that, and does not run.
//
// A device that is lost while a variant is proved is thrown as Error(device_lost). The variant is then barred, unless
// it is the baseline, which nothing can stand in for.
class Admission {
  public:
    using Notify = std::function<void(const std::string &)>;  // one line for the user: what is barred, and why
    using Proving = std::function<void(const std::string &)>; // before each case: of what; may be empty, and may throw
    // file: where verdicts are kept; empty: they are not.
    Admission(std::shared_ptr<const abi::Registry> plugins, conformance::CheckTarget target,
              const std::filesystem::path &file, Notify notify, Proving proving = {});

    // The variant of each step: ProgramOptions::variants. `asked` names variants by layer id: these must be admitted,
    // too. Throws Error(no_device) when no variant of a layer is admitted, Error(input) when the one asked for is not.
    [[nodiscard]] std::vector<std::string> choose(const plan::GraphPlan &plan, plan::Backend &backend,
                                                  const std::map<std::string, std::string, std::less<>> &asked);

    // The device was lost, and this is the same one opened anew. What was proved stays proved.
    void move_to(conformance::CheckTarget target);

    // Proves every variant of these layers (all, when empty) anew, on all their cases and those like the steps of
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
    [[nodiscard]] Verdicts::Admitted known(const abi::Layer &layer, const std::string &variant) const;
    // Runs one case and adds what it says to the verdict; false when the variant does not do it.
    bool try_case(const abi::Layer &layer, const std::string &variant, const std::string &text,
                  Verdicts::Admitted &verdict);
    // Goes on with the layer's own cases until `least` have passed, it is barred, or there are no more; then with as
    // many as there is time for.
    Verdicts::Admitted prove(const abi::Layer &layer, const std::string &variant, size_t least);
    // And with the cases like a step, if there is time or it `must` be.
    Verdicts::Admitted prove_like(const abi::Layer &layer, const std::string &variant,
                                  const std::vector<std::string> &texts, bool must);
    [[nodiscard]] bool in_time() const;
    [[nodiscard]] StepCases cases_of(const plan::Step &step, const std::string &variant) const;
    [[nodiscard]] std::string why_not_fit(const plan::Step &step, const std::string &variant);
    [[nodiscard]] std::string why_not_proved(const plan::Step &step, const conformance::CheckVariant &variant,
                                             bool needed);
    void expect_proved(const plan::Step &step, const std::string &variant);
    [[nodiscard]] std::vector<std::string> candidates(const plan::Step &step);
    [[nodiscard]] std::string fastest(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                                      const std::vector<std::string> &candidates);

    std::mutex mutex_; // of all below
    std::shared_ptr<const abi::Registry> plugins_;
    conformance::CheckTarget target_;
    Verdicts verdicts_;
    Notify notify_;
    Proving say_proving_;
    Clock::duration proving_{}, measuring_{}; // spent in this process
};

} // namespace lamina::admission
