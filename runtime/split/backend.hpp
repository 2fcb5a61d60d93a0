// One model on several devices: each computes some of its layers, and what they give goes on to the next.
#pragma once

#include "plan/program.hpp"
#include "split/flow.hpp"
#include "split/layers.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace lamina::split {

// Tensors cross from device to device through the host's memory. A program that gives nothing to read, as for a block
// of a prompt, may still be running when run() returns: later programs take their turn on each device, so that several
// blocks are on their way at the same time. Whatever else uses the backend waits for them, and throws their errors.
class SplitBackend final : public plan::Backend {
  public:
    // Backends with the same `turns` may be on the same devices.
    SplitBackend(std::vector<plan::Backend *> devices, Layers layers, Division division,
                 std::shared_ptr<FlowTurns> turns);

    [[nodiscard]] std::unique_ptr<plan::Program> compile(plan::GraphPlan plan,
                                                         const plan::ProgramOptions &options) override;
    [[nodiscard]] std::vector<plan::MemoryNeed> need(const plan::GraphPlan &plan) override;

    // What one device computes without another in between.
    struct Part {
        size_t device;
        size_t first, last; // steps of the whole plan: [first, last)
        plan::Section section;
    };
    [[nodiscard]] std::vector<Part> parts_of(const plan::GraphPlan &plan) const;
    [[nodiscard]] std::vector<size_t> devices_of(const plan::GraphPlan &plan) const;

    [[nodiscard]] const Layers &layers() const { return layers_; }
    [[nodiscard]] const Division &division() const { return division_; }

    // Until nothing is running any more.
    void wait() { flow_->wait(); }
    // The device that was lost, if one was.
    [[nodiscard]] std::optional<size_t> lost() const { return *lost_; }

  private:
    std::vector<plan::Backend *> devices_;
    const Layers layers_;
    const Division division_;
    std::shared_ptr<Flow> flow_;
    std::shared_ptr<std::optional<size_t>> lost_; // shared with programs
};

} // namespace lamina::split
