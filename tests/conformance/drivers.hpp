// The driver that this run of the program is for: $LAMINA_DRIVER, one of cpu, lavapipe, swiftshader, gpu.
#pragma once

#include "abi/library.hpp"
#include "absent_driver.hpp"
#include "conformance/target.hpp"
#include "vulkan/device.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace test {

// The plugins of the build.
[[nodiscard]] std::shared_ptr<const lamina::abi::Registry> plugins();

struct Driver {
    std::string name;
    std::shared_ptr<lamina::vulkan::Instance> instance; // with validation layers; null for cpu
    std::shared_ptr<lamina::vulkan::Device> device;
};

// Nothing where this machine does not have it; the test is then skipped, or fails where it is required: see
// report_absent().
[[nodiscard]] std::optional<Driver> driver();

// What driver() is made of, for tests that bring a driver of their own. The manifest, which tells Vulkan's loader where
// a driver's library is; empty where it is not installed.
[[nodiscard]] std::filesystem::path manifest_of(const std::string &driver);
// Points the loader at one driver alone, before the first instance is made.
void select(const std::filesystem::path &manifest);

[[nodiscard]] lamina::conformance::CheckTarget target_of(const Driver &driver);

} // namespace test
