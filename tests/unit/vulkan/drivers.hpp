// The Vulkan devices of this machine, for tests.
#pragma once

#include "vulkan/instance.hpp"

#include "absent_driver.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <filesystem>
#include <fstream>

namespace test {

// An instance with validation; null if there is no Vulkan driver: the test is then skipped.
inline std::shared_ptr<lamina::vulkan::VulkanInstance> validated_instance() {
    std::string why_not;
    auto instance = lamina::vulkan::VulkanInstance::create({.validation = true}, nullptr, why_not);
    if (instance == nullptr) report_absent("any", why_not);
    return instance;
}

// All validation messages as one text. Tests expect "", so that a failure shows the messages.
inline std::string messages_of(const lamina::vulkan::Instance &instance) {
    std::string text;
    for (const std::string &m : instance.validation_messages()) text += m + "\n";
    return text;
}

// The devices that Lamina can run on. If there are none, the test is skipped.
inline std::vector<uint32_t> usable_devices(const lamina::vulkan::Instance &instance) {
    std::vector<uint32_t> usable;
    for (const auto &info : instance.devices())
        if (info.unusable.empty()) usable.push_back(info.index);
    if (usable.empty()) report_absent("any", "no usable device");
    return usable;
}

inline void write_bytes(const std::filesystem::path &file, const std::string &bytes) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::filesystem::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace test
