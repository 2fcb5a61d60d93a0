// The driver's compiled pipelines on disk. The file only saves time: if anything is wrong with it, pipelines are built
// again and the file is replaced.
#pragma once

#include "vulkan/physical_device.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace lamina::vulkan {

// The device's file in $XDG_CACHE_HOME/lamina, else in $HOME/.cache/lamina. Nothing if neither is an absolute path.
[[nodiscard]] std::optional<std::filesystem::path> pipeline_cache_file(const DeviceInfo &device);

// The data for vkCreatePipelineCache; empty if the file is absent, damaged, or from another device or driver. Drivers
// are known to crash on damaged caches, so a checksum precedes their data.
[[nodiscard]] std::vector<std::byte> read_pipeline_cache(const std::filesystem::path &file,
                                                         const PhysicalDevice &device);

// Replaces the file atomically. False if that is not possible: a full disk or a read-only home.
bool write_pipeline_cache(const std::filesystem::path &file, std::span<const std::byte> data);

} // namespace lamina::vulkan
