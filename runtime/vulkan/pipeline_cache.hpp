// The driver's compiled pipelines on disk. The file is only a shortcut: whatever is wrong with it, pipelines are built
// anew and the file is replaced.
#pragma once

#include "vulkan/physical_device.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace lamina::vulkan {

// $XDG_CACHE_HOME/lamina, else $HOME/.cache/lamina, plus the device's file. Nothing when neither is an absolute path.
[[nodiscard]] std::optional<std::filesystem::path> pipeline_cache_file(const DeviceInfo &device);

// What vkCreatePipelineCache may be given; empty when the file is absent, damaged or of another device or driver.
// Drivers are known to crash on damaged caches, so a checksum stands in front of their data.
[[nodiscard]] std::vector<std::byte> read_pipeline_cache(const std::filesystem::path &file,
                                                         const PhysicalDevice &device);

// Replaces the file in one step. False when that is not possible: a full disk or a read-only home.
bool write_pipeline_cache(const std::filesystem::path &file, std::span<const std::byte> data);

} // namespace lamina::vulkan
