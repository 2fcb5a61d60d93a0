// Implements the public Device with the other parts of this folder.
#pragma once

#include "vulkan/instance.hpp"

#include <memory>

namespace lamina::vulkan {

// Throws Error(no_device) if the driver refuses.
[[nodiscard]] std::shared_ptr<Device> open_device(const std::shared_ptr<VulkanInstance> &instance,
                                                  const PhysicalDevice &physical,
                                                  std::shared_ptr<const abi::Registry> plugins);

} // namespace lamina::vulkan
