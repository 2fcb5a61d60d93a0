// A graph compiled for a Vulkan device.
#pragma once

#include "vulkan/recording.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina::vulkan {

class VulkanProgram final : public plan::Program {
  public:
    // `pipelines` has one for every dispatch of `steps`, in order, and `owner` keeps them alive. `prepared`: by step,
    // what its plan has prepared.
    VulkanProgram(std::shared_ptr<LogicalDevice> device, std::shared_ptr<const Pipelines> owner, Residents &residents,
                  plan::GraphPlan plan, std::vector<ChosenVariant> steps, std::span<const Pipeline> pipelines,
                  std::vector<std::vector<Region>> prepared, const plan::ProgramOptions &options);

    void write(int32_t tensor, std::span<const std::byte> bytes) override;
    void run() override;
    void read(int32_t tensor, std::span<std::byte> bytes) override;
    [[nodiscard]] std::string overrun() override;
    void reorder_states(std::span<const int32_t> rows) override;
    [[nodiscard]] std::string variant(size_t step) const override;

  private:
    struct Input {
        int32_t tensor;
        bool written = false; // ever
        bool changed = false; // since the last run
    };
    void lay_out_staging();
    void expect_size(int32_t tensor, size_t found) const;
    void download(const Region &from, std::span<std::byte> to);

    std::shared_ptr<LogicalDevice> device_;
    std::shared_ptr<const Pipelines> pipelines_;
    std::vector<ChosenVariant> steps_;
    ProgramMemory memory_;
    std::vector<Input> inputs_;
    std::vector<int32_t> output_tensors_;
    std::vector<Transfer> input_transfers_, output_transfers_;
    std::optional<Buffer> staging_; // the inputs, then the outputs
    std::optional<Buffer> beside_;  // for sequences on their way: see reorder_states()
    std::optional<Recording> recording_;
    bool has_run_ = false;
};

} // namespace lamina::vulkan
