#include "drivers.hpp"

#include "cpu/device.hpp"

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace test {
namespace {

namespace fs = std::filesystem;
using lamina::vulkan::DeviceInfo;

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::optional<Driver> absent(const std::string &name, const std::string &why) {
    report_absent(name, why);
    return std::nullopt;
}

bool is_wanted(const DeviceInfo &info, const std::string &driver) {
    return info.unusable.empty() && (driver != "gpu" || info.kind != DeviceInfo::Kind::software);
}

std::optional<Driver> open(const std::string &name) {
    if (name == "cpu") return Driver{name, nullptr, nullptr};
    if (name != "gpu") {
        const fs::path manifest = manifest_of(name);
        if (manifest.empty()) return absent(name, "it is not installed");
        select(manifest);
    }
    std::string why_not;
    auto instance = lamina::vulkan::Instance::create({.validation = true}, why_not);
    if (instance == nullptr) return absent(name, why_not);
    for (const DeviceInfo &info : instance->devices()) {
        if (!is_wanted(info, name)) continue;
        std::cout << name << ": " << info.name << ", " << info.driver << " " << info.driver_version << "\n";
        return Driver{name, instance, instance->open(info.index, plugins())};
    }
    return absent(name, "no usable device");
}

} // namespace

fs::path manifest_of(const std::string &driver) {
    const std::string given = variable("LAMINA_DRIVER_MANIFEST");
    if (!given.empty()) return given;
    const std::string begins = driver == "lavapipe" ? "lvp_icd" : "vk_swiftshader_icd";
    for (const fs::path folder : {"/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d",
                                  "/usr/lib/chromium", "/usr/lib64/chromium-browser"}) {
        std::error_code error;
        for (const auto &entry : fs::directory_iterator(folder, error))
            if (entry.path().filename().string().starts_with(begins) && entry.path().extension() == ".json")
                return entry.path();
    }
    return {};
}

void select(const fs::path &manifest) {
    setenv("VK_DRIVER_FILES", manifest.c_str(), 1);
    setenv("VK_ICD_FILENAMES", manifest.c_str(), 1); // the name in loaders before 1.3.207
}

std::optional<Driver> driver() {
    const std::string name = variable("LAMINA_DRIVER");
    static const std::optional<Driver> opened = open(name.empty() ? "cpu" : name);
    return opened;
}

size_t most_words() {
    const std::string given = variable("LAMINA_FEW_CASES"), name = variable("LAMINA_DRIVER");
    if (!given.empty()) return std::stoull(given);
    return name == "lavapipe" ? 20'000 : name == "swiftshader" ? 4'000 : 0;
}

std::shared_ptr<lamina::plan::Device> device_of(const Driver &driver) {
    if (driver.device != nullptr) return driver.device;
    return lamina::cpu::make_device(plugins(), plugins()->executor());
}

} // namespace test
