// The driver that this run of the program tests: $LAMINA_DRIVER, one of cpu, lavapipe, swiftshader, gpu.
#pragma once

#include "absent_driver.hpp"
#include "built_plugins.hpp"
#include "vulkan/device.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace test {

struct Driver {
    std::string name;
    std::shared_ptr<lamina::vulkan::Instance> instance; // with validation layers; null for cpu
    std::shared_ptr<lamina::vulkan::Device> device;     // for plugins()
};

// Nothing if it is not installed; the test is then skipped, or fails if the driver is required: see
// report_absent().
[[nodiscard]] std::optional<Driver> driver();

// How much a variant of a layer may compile on driver(), in words of SPIR-V, or 0: as much as there is. Software
// drivers take seconds to compile a kernel. $LAMINA_FEW_CASES sets another limit.
[[nodiscard]] size_t most_words();

// The parts of driver(), for tests with a driver of their own. The manifest tells Vulkan's loader where a driver's
// library is; empty if it is not installed.
[[nodiscard]] std::filesystem::path manifest_of(const std::string &driver);
// Makes the loader use only this driver. Must be called before the first instance is created.
void select(const std::filesystem::path &manifest);

[[nodiscard]] std::shared_ptr<lamina::plan::Device> device_of(const Driver &driver); // also the CPU

} // namespace test
