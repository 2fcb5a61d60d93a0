// What a bug report needs to know of a machine: the system, its GPUs, and where Vulkan's loader and drivers are. Found
// without Vulkan, so that it is known where Vulkan does not work, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lamina {

using Facts = std::vector<std::pair<std::string, std::string>>; // name, value

[[nodiscard]] Facts system_facts(); // the distribution and others that only this kind of system has

extern const std::string vulkan_loader; // the library: "libvulkan.so.1"
// The manifests of the drivers that the loader finds, in its order.
[[nodiscard]] std::vector<std::filesystem::path> vulkan_manifests();

struct Gpu {
    std::string address, id;   // "0000:01:00.0", "10de:2684": vendor and device
    std::string kernel_driver; // empty: none
    std::string why_not;       // this user cannot open it; empty: they can, or it has no file to open
    std::string advice;        // what to do about that
};
[[nodiscard]] std::vector<Gpu> gpus();

} // namespace lamina
