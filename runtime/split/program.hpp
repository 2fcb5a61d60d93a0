// A graph whose steps run on several devices.
#pragma once

#include "split/backend.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace lamina::split {

class SplitProgram final : public plan::Program {
  public:
    // `make` compiles a part on its device.
    using Make = std::function<std::unique_ptr<plan::Program>(size_t device, plan::GraphPlan plan,
                                                              const plan::ProgramOptions &options)>;
    SplitProgram(plan::GraphPlan plan, std::vector<SplitBackend::Part> parts, const plan::ProgramOptions &options,
                 std::shared_ptr<Flow> flow, std::shared_ptr<std::optional<size_t>> lost, const Make &make);
    ~SplitProgram() override;
    SplitProgram(const SplitProgram &) = delete;
    SplitProgram &operator=(const SplitProgram &) = delete;

    [[nodiscard]] std::string overrun() override;
    [[nodiscard]] std::string variant(size_t step) const override;

  private:
    using Bytes = std::vector<std::byte>;
    using Shared = std::shared_ptr<const Bytes>;

    // A tensor of the whole plan, as a part knows it.
    struct Port {
        size_t whole; // tensor of the whole plan
        int32_t here; // tensor of the part's
    };
    struct Part {
        size_t device, first_step;
        std::unique_ptr<plan::Program> program;
        std::vector<Port> inputs, crossing, given; // of the graph; from earlier parts; to later parts
        std::vector<Shared> written;               // inputs, as they were last
        plan::RunTimes times;                      // of the last run
    };
    // One run on its way.
    struct Run {
        std::vector<Shared> inputs;          // by tensor
        std::vector<Bytes> crossing;         // by tensor
        std::vector<int32_t> rows;           // of states
        std::optional<plan::RunTimes> times; // so far
    };

    void set(int32_t tensor, std::span<const std::byte> bytes) override;
    void move(std::span<const plan::SequenceCopy> moves) override;
    void execute() override;
    void execute_timed(plan::RunTimes &times) override;
    void get(int32_t tensor, uint64_t offset, std::span<std::byte> bytes) override;
    void copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) override;

    [[nodiscard]] std::unique_ptr<Run> begin_run();
    void run_part(Part &part, Run &run);
    void go_on(const std::shared_ptr<Run> &run, size_t part);
    // The part that has a state or computes an activation, and its number there.
    [[nodiscard]] std::pair<Part *, int32_t> home(int32_t tensor);

    std::shared_ptr<Flow> flow_;
    std::shared_ptr<std::optional<size_t>> lost_;
    std::function<void(const plan::Program &, const plan::RunTimes &)> timed_;
    std::vector<Part> parts_;
    std::vector<std::pair<size_t, int32_t>> homes_; // by tensor: the part, and its number there; or none
    std::vector<Shared> inputs_;                    // by tensor: what runs take from now on
    std::vector<int32_t> rows_;                     // of the run that follows
    std::unique_ptr<Run> spare_;                    // whose memory the next run takes
};

} // namespace lamina::split
