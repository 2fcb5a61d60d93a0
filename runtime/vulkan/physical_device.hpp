// What a Vulkan device can do, queried once: the public description, and what is needed to open it.
#pragma once

#include "vulkan/api.hpp"
#include "vulkan/device.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace lamina::vulkan {

struct PhysicalDevice {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    DeviceInfo info;
    uint32_t api_version = 0;    // the lower of the device's and the instance's
    uint32_t queue_family = 0;   // the first with compute support
    uint32_t timestamp_bits = 0; // valid bits of the queue's timestamps; 0: it has none
    VkPhysicalDeviceLimits limits{};
    uint64_t max_allocation_bytes = 0;
    VkPhysicalDeviceMemoryProperties memory{};
    std::set<std::string, std::less<>> extensions; // supported by the device

    [[nodiscard]] bool offers(const char *extension) const { return extensions.contains(extension); }
    // With the host, as far as a memory type says so.
    [[nodiscard]] bool shares_memory() const { return info.kind != DeviceInfo::Kind::discrete; }
};

// Describes the device as number `index`. A device that cannot run Lamina is described too: info.unusable says why.
[[nodiscard]] PhysicalDevice inspect(VkPhysicalDevice handle, uint32_t index, uint32_t instance_api_version);

} // namespace lamina::vulkan
