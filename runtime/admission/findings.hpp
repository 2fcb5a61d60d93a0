// What has been found out about the variants on one device. Any thread may use it.
#pragma once

#include "admission/trials.hpp"
#include "admission/verdicts.hpp"

#include <lamina/lamina.hpp>

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lamina::admission {

class Findings {
  public:
    // file: where they are kept; empty: nowhere. device: its name, for messages to options.notify.
    Findings(const std::filesystem::path &file, const RuntimeOptions &options, std::string device);

    // Also of a variant that was never tried.
    [[nodiscard]] Verdicts::Verdict verdict(const abi::Layer &layer, const std::string &variant) const;
    // Cases like the steps of models that a variant has passed, or that barred it; and whether `text` is one of them.
    [[nodiscard]] std::set<std::string> shapes(const abi::Layer &layer, const std::string &variant) const;
    [[nodiscard]] bool has_shape(const abi::Layer &layer, const std::string &variant, const std::string &text) const;
    // Whether a trial would add something to what is known of its variant.
    [[nodiscard]] bool is_open(const Trial &trial) const;

    // Adds the result of a trial; null if it was not run. Nothing can replace the baseline, so that an error of the
    // driver bars it in this process alone.
    void record(const Trial &trial, const CaseResult *result);
    // A trial that ended with an error. If the device was lost, its variant is barred, whatever the cause: a faster
    // variant is not worth losing the device again. Nothing can replace the baseline, so that is not.
    void record(const Trial &trial, const Error &error);
    // A variant whose plan breaks its contract.
    void bar(const abi::Layer &layer, const std::string &variant, const std::string &why);
    void forget(const abi::Layer &layer);

    // The user hears of every variant of this layer that was barred since the last call.
    void tell_barred(const abi::Layer &layer);
    // The user has heard of all.
    void told_all();

    // As in Verdicts.
    [[nodiscard]] std::string fastest(const abi::Layer &layer, const std::string &shapes) const;
    // The candidate that was the fastest on most shapes; the first one if none was measured.
    [[nodiscard]] std::string usually_fastest(const abi::Layer &layer,
                                              const std::vector<std::string> &candidates) const;
    void set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant);

    // They are also saved every second while more is found, so that a process that is killed loses little.
    void save();

  private:
    using Clock = std::chrono::steady_clock;
    [[nodiscard]] Verdicts::Verdict known(const abi::Layer &layer, const std::string &variant) const;
    void keep(const abi::Layer &layer, const std::string &variant, const Verdicts::Verdict &verdict,
              const std::string &shape = "", Verdicts::Where where = Verdicts::Where::file);
    void save_now();

    const RuntimeOptions options_;
    const std::string device_;
    mutable std::mutex mutex_; // guards all below
    Verdicts verdicts_;
    Clock::time_point saved_ = Clock::now();
    bool unwritable_ = false;                              // it was said that the file cannot be written
    std::set<std::pair<std::string, std::string>> untold_; // layers and variants that were barred
};

} // namespace lamina::admission
