// Timestamps that the device writes between commands.
#pragma once

#include "vulkan/logical_device.hpp"

#include <memory>
#include <vector>

namespace lamina::vulkan {

class Timestamps {
  public:
    // Whether the device's queue can write any.
    [[nodiscard]] static bool available(const LogicalDevice &device);

    Timestamps(std::shared_ptr<LogicalDevice> device, size_t count);

    // To be recorded before all others of a run.
    void reset(VkCommandBuffer commands) const;
    // Records the next timestamp: when everything recorded before is done.
    void write(VkCommandBuffer commands);
    // All timestamps of the last run, in seconds, which must be done.
    [[nodiscard]] std::vector<double> read() const;

  private:
    std::shared_ptr<LogicalDevice> device_;
    uint32_t count_, written_ = 0;
    uint64_t mask_; // the valid bits
    Owned<VkQueryPool> pool_;
};

} // namespace lamina::vulkan
