// What a driver's compiler says about a pipeline.
#pragma once

#include "vulkan/logical_device.hpp"

#include <map>
#include <string>

namespace lamina::vulkan {

// Under the driver's names: registers, spills, instructions. Of a pipeline that has several executables, such as one
// for each size of subgroups, the greatest of each. Empty on a device that does not keep statistics.
[[nodiscard]] std::map<std::string, double> statistics_of(const LogicalDevice &device, VkPipeline pipeline);

} // namespace lamina::vulkan
