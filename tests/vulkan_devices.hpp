// The Vulkan devices of this machine, for tests that use the public API.
#pragma once

#include "absent_driver.hpp"

#include <lamina/lamina.hpp>

#include <vector>

namespace test {

// The devices that a runtime can use, including software devices. If there are none, the calling test is skipped.
inline std::vector<lamina::Device> vulkan_devices(const lamina::Runtime &runtime) {
    std::vector<lamina::Device> usable;
    for (const lamina::Device &device : runtime.devices())
        if (device.kind != "cpu" && device.unusable.empty()) usable.push_back(device);
    const std::string none = runtime.no_vulkan();
    if (usable.empty()) report_absent("any", none.empty() ? "no usable device" : none);
    return usable;
}

// The CPU, and the first Vulkan device there is: a software one, too.
inline std::vector<lamina::Device> devices_of_each_kind(const lamina::Runtime &runtime) {
    std::vector<lamina::Device> out{runtime.device("cpu")};
    const std::vector<lamina::Device> vulkan = vulkan_devices(runtime);
    if (!vulkan.empty()) out.push_back(vulkan.front());
    return out;
}

} // namespace test
