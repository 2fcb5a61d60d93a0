// Decides which variants may run on a device and which of them is fastest, and remembers it.
#pragma once

#include "abi/library.hpp"
#include "admission/background.hpp"
#include "admission/findings.hpp"
#include "admission/step_case.hpp"
#include "admission/trials.hpp"
#include "fusion/fusion.hpp"
#include "plan/device.hpp"
#include "plan/graph_plan.hpp"
#include "plan/program.hpp"

#include <lamina/lamina.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::admission {

// RuntimeOptions::proving_time, if it was left out, for a kind of device, and findings that are kept on disk or not.
[[nodiscard]] std::chrono::seconds usual_proving_time(std::string_view kind, bool kept);

// Before a variant is used on this device, it must agree with the reference on its layer's own cases, and on cases made
// from the step (with the same dims, as far as time allows). A variant that fails is barred. If several have passed,
// the one that is fastest on the step's shapes is used. Verdicts and timings are kept on disk, keyed by device, driver
// version and the bytes of the plugin.
//
// Proving takes time, mostly in the driver's compiler. So the baseline runs as soon as it has passed the cases like the
// step; those of all steps of a plan run at once, on all cores. If the baseline cannot run, the first variant that can
// is proved at once. The others are proved for as long as options.proving_time allows, then in the background, in this
// process and in later ones. A variant that
// could not run any case is not proved, and does not run.
//
// If the device is lost while a variant is proved, Error(device_lost) is thrown and the variant is barred, unless it is
// the baseline, which nothing can replace.
class Admission {
  public:
    // file: where verdicts are kept; empty: nowhere. Uses the options `notify`, `proving` and `proving_time`.
    Admission(std::shared_ptr<plan::Device> device, const std::filesystem::path &file, const RuntimeOptions &options);

    // What a caller of choose() asks for.
    struct Wanted {
        std::map<std::string, std::string, std::less<>> variants{}; // by layer id; they must be admitted, too
        Precision precision = Precision::full;
    };
    // The variant for each step, as ProgramOptions::variants. Throws Error(unproven) if a requested variant, or every
    // variant of a layer that can compute the step, failed its proof; Error(no_device) if none can compute the step. If
    // `unproven` is given, a layer without an admitted variant is added there instead, and the first of them that can
    // compute the step is chosen.
    [[nodiscard]] std::vector<std::string> choose(const plan::GraphPlan &plan, plan::Backend &backend,
                                                  const Wanted &wanted, std::set<std::string> *unproven = nullptr);

    // Which of these matches, of a plan's steps on this device, to use: fusions that passed their proof, and are faster
    // than what they replace; and those whose variant was requested, if the device has it. The steps that they replace
    // are proved first, because they run if a fusion may not.
    [[nodiscard]] std::vector<fusion::Match> choose_fusions(const plan::GraphPlan &plan,
                                                            const std::vector<fusion::Match> &matches,
                                                            plan::Backend &backend, const Wanted &wanted);

    // Continues on the same device after it was lost and reopened. What was proved stays proved.
    void move_to(std::shared_ptr<plan::Device> device);

    // Proves every variant of these layers (all, if empty) from scratch, on all their cases and those like the steps of
    // models that were run here, however long it takes.
    struct Proof {
        std::string layer, variant;
        Verdicts::Verdict verdict;
        size_t shapes = 0; // cases like the steps of models, which it passed, or of which one barred it
    };
    std::vector<Proof> redo(const std::vector<std::string> &layers,
                            const std::function<void(const Proof &)> &progress = {});
    // What is known of them now. Does not wait for a proof that is running.
    [[nodiscard]] std::vector<Proof> known(const std::vector<std::string> &layers) const;

  private:
    using Clock = std::chrono::steady_clock;
    [[nodiscard]] std::vector<std::string> choose_all(const plan::GraphPlan &plan, plan::Backend &backend,
                                                      const Wanted &wanted, std::set<std::string> *unproven);
    [[nodiscard]] bool worthwhile(const plan::GraphPlan &plan, const fusion::Match &match, plan::Backend &backend,
                                  const Wanted &wanted);
    // The variants of the layers apart, which may gain more, have the rest.
    [[nodiscard]] Clock::duration time_of_fusions() const { return proving_time_ / 2; }
    [[nodiscard]] bool may_measure() const; // or this process has waited long enough
    void finish();
    // Runs trials of variants that are not barred, as long as `go_on` returns true, and adds the results to the
    // verdicts.
    void try_all(const std::vector<Trial> &trials, const std::function<bool()> &go_on, size_t at_once = SIZE_MAX);
    void try_in_background(const Trial &trial);
    [[nodiscard]] Proof proof_of(const abi::Layer &layer, const std::string &variant) const;
    [[nodiscard]] std::vector<Trial> missing(const plan::Step &step, const std::string &variant, bool declared);
    void tell_smaller(const plan::Step &step);
    void prove(const plan::Step &step, const std::string &variant, bool declared, const std::function<bool()> &go_on);
    [[nodiscard]] bool may_begin(const plan::Step &step, const plan::Variant &variant);
    [[nodiscard]] std::vector<plan::Variant> variants_for(const plan::Step &step, Precision precision);
    void prove_first_variants(const std::vector<const plan::Step *> &steps, const Wanted &wanted);
    void prove_other_variants(const std::vector<const plan::Step *> &steps, const Wanted &wanted, Clock::duration time);
    [[nodiscard]] const StepCases &cases_of(const plan::Step &step, const std::string &variant);
    void prove_rest_in_background(const std::vector<const plan::Step *> &steps, Precision precision);
    [[nodiscard]] std::string why_not_fit(const plan::Step &step, const std::string &variant);
    [[nodiscard]] bool proved(const plan::Step &step, const plan::Variant &variant, bool needed, Clock::duration time);
    void expect_proved(const plan::Step &step, const std::string &variant);
    [[nodiscard]] Error failed_proof(const plan::Step &step, const std::string &who, const std::string &variant) const;
    [[nodiscard]] std::vector<std::string> candidates(const plan::Step &step, Precision precision,
                                                      std::set<std::string> *unproven);
    [[nodiscard]] std::string fastest(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                                      const std::vector<std::string> &candidates);
    [[nodiscard]] std::string variant_for(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                                          const Wanted &wanted, std::set<std::string> *unproven);

    std::vector<std::pair<const abi::Layer *, std::string>> variants_; // all that the device has; never changes

    std::mutex mutex_; // guards all below but the findings
    std::shared_ptr<plan::Device> device_;
    std::unique_ptr<Trials> trials_; // on the device
    const RuntimeOptions options_;
    const Clock::duration proving_time_;
    double room_ = std::numeric_limits<double>::infinity(); // values of a case for which memory was found so far
    std::map<std::pair<std::string, std::string>, StepCases> cases_; // of kinds of steps and variants, until finish()
    Clock::duration proving_{}, measuring_{};                        // time that runs have waited in this process
    bool progress_shown_ = false;        // options_.proving was called, and not yet for the end
    std::set<std::string> told_smaller_; // kinds of steps
    Findings findings_;
    std::unique_ptr<Background> background_; // last, so that its thread ends first
};

} // namespace lamina::admission
