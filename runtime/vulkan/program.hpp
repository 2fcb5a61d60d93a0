// A graph compiled for a Vulkan device.
#pragma once

#include "vulkan/recording.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lamina::vulkan {

class VulkanProgram final : public plan::Program {
  public:
    // `pipelines` has one for every dispatch of `steps`, in order, and `owner` keeps them alive. `prepared`: the
    // prepared memory of each step.
    VulkanProgram(std::shared_ptr<LogicalDevice> device, std::shared_ptr<const Pipelines> owner, Residents &residents,
                  plan::GraphPlan plan, std::vector<plan::ChosenVariant> steps, std::span<const Pipeline> pipelines,
                  std::vector<Prepared> prepared, const plan::ProgramOptions &options);

    [[nodiscard]] std::string overrun() override;
    [[nodiscard]] std::string variant(size_t step) const override;

  private:
    void set(int32_t tensor, std::span<const std::byte> bytes) override;
    void execute() override;
    void execute_timed(plan::RunTimes &times) override;
    void get(int32_t tensor, uint64_t offset, std::span<std::byte> bytes) override;
    void move(std::span<const plan::SequenceCopy> moves) override;
    void copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) override;
    void record_copies(VkCommandBuffer commands, VulkanProgram &from, std::span<const plan::StateCopy> copies);
    void lay_out_staging();
    void download(const Region &from, uint64_t offset, std::span<std::byte> to);

    std::shared_ptr<LogicalDevice> device_;
    std::shared_ptr<const Pipelines> pipelines_;
    std::vector<plan::ChosenVariant> steps_;
    ProgramMemory memory_;
    std::vector<int32_t> input_tensors_, output_tensors_;
    std::vector<size_t> changed_; // of the inputs, since the last run
    std::vector<Transfer> input_transfers_, output_transfers_;
    std::optional<Buffer> staging_;    // the inputs, then the outputs
    std::optional<Buffer> downloaded_; // what download() brings to the host
    std::optional<Recording> recording_;
    std::map<std::pair<int32_t, int32_t>, VkCommandBuffer> recorded_moves_; // from one sequence to another
    std::optional<CommandPool> move_commands_;                              // which owns these
    std::vector<VkCommandBuffer> moves_;                                    // of the run that follows
};

} // namespace lamina::vulkan
