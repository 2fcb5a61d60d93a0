// Cases to run for variants, several at the same time.
#pragma once

#include "abi/library.hpp"
#include "plan/device.hpp"

#include <lamina/proof.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lamina::admission {

// A case that a variant has to pass.
struct Trial {
    const abi::Layer *layer = nullptr;
    std::string variant, text;
    bool declared = false; // by the layer; otherwise made from a step
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison with 0 for one with a pointer
    [[nodiscard]] auto operator<=>(const Trial &) const = default;
};

// Runs trials on one device.
class Trials {
  public:
    explicit Trials(std::shared_ptr<plan::Device> device);

    // What a caller does with trials. Calls are made one at a time, from any thread.
    struct Caller {
        // Whether the trial is run at all. May throw: then no further trial begins, and the exception is passed on.
        std::function<bool(const Trial &)> begin;
        // Called in the order of the list; the result is null if the trial was not run.
        std::function<void(const Trial &, const CaseResult *)> end;
        // The trial was not finished: the device was lost, or there is no memory. The exception is passed on.
        std::function<void(const Trial &, const Error &)> failed;
    };
    void run(const std::vector<Trial> &trials, const Caller &caller, size_t at_once = SIZE_MAX);

  private:
    [[nodiscard]] plan::Device &lane(size_t thread);

    std::mutex mutex_;
    std::vector<std::shared_ptr<plan::Device>> lanes_; // one for each thread that has run a trial
};

} // namespace lamina::admission
