#include "faulty_driver.hpp"

#include "../conformance/drivers.hpp"
#include "base/json_reader.hpp"
#include "catch.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <sstream>

namespace test {
namespace {

namespace fs = std::filesystem;

// The library that a driver's manifest names, for dlopen.
std::string library_of(const fs::path &manifest) {
    std::ostringstream text;
    text << std::ifstream(manifest).rdbuf();
    const lamina::JsonText document(text.str(), manifest.string());
    const fs::path named = document.root().at("ICD").at("library_path").string();
    return named.has_parent_path() ? (manifest.parent_path() / named).string() : named.string();
}

// The library stays open, because its faults are set before the first instance and read after the last.
Faults *install() {
    const fs::path below = test::manifest_of("lavapipe");
    if (below.empty()) return nullptr;
    setenv("LAMINA_DRIVER_BELOW", library_of(below).c_str(), 1);
    test::select(LAMINA_FAULTY_DRIVER_MANIFEST);
    void *const library = dlopen(LAMINA_FAULTY_DRIVER, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    return reinterpret_cast<Faults *(*)()>(dlsym(library, "lamina_faults"))();
}

void set(Faults &faults, const std::string &function, uint64_t n, VkResult answer, bool again) {
    const std::lock_guard lock(faults.mutex);
    faults.function = function;
    faults.answer = answer;
    faults.nth = n;
    faults.again = again;
    faults.calls = 0;
}

} // namespace

Faults *faulty_driver() {
    static Faults *const faults = install();
    if (faults == nullptr) {
        test::report_absent("lavapipe", "it is not installed");
        return nullptr;
    }
    heal(*faults);
    faults->opens = true;
    faults->fences_hang = false;
    faults->lossy_submission = 0;
    faults->loses_all = false;
    faults->computes = true;
    faults->timestamps = true;
    faults->change = nullptr;
    faults->max_allocation_bytes = 0;
    faults->heap_bytes = 0;
    return faults;
}

void fail(Faults &faults, const std::string &function, uint64_t n, VkResult answer) {
    set(faults, function, n, answer, false);
}
void fail_again_and_again(Faults &faults, const std::string &function, uint64_t n, VkResult answer) {
    set(faults, function, n, answer, true);
}
void heal(Faults &faults) { set(faults, "", 0, VK_SUCCESS, false); }

uint64_t calls_of(Faults &faults, const std::string &function, const std::function<void()> &action) {
    set(faults, function, 0, VK_SUCCESS, false);
    action();
    const std::lock_guard lock(faults.mutex);
    return faults.calls;
}

void give_own_memory(Faults &faults) {
    faults.change = [](VkPhysicalDeviceProperties &p) { p.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU; };
}

std::string leaked(Faults &faults) {
    const std::lock_guard lock(faults.mutex);
    std::string text;
    for (const auto &[maker, n] : faults.alive)
        if (n != 0) text += std::to_string(n) + " of " + maker + " ";
    return text;
}

std::shared_ptr<lamina::vulkan::Instance> validated_instance() {
    std::string why_not;
    auto instance = lamina::vulkan::Instance::create({.validation = true}, why_not);
    INFO(why_not);
    REQUIRE(instance != nullptr);
    return instance;
}

std::string messages_of(const lamina::vulkan::Instance &instance) {
    std::string text;
    for (const std::string &m : instance.validation_messages()) text += m + "\n";
    return text;
}

std::string messages_after_loss(const lamina::vulkan::Instance &instance) {
    std::string text;
    for (const std::string &m : instance.validation_messages()) {
        const auto says = [&](const char *id) { return m.find(id) != std::string::npos; };
        const bool in_use = says("VUID-vkDestroyFence-fence-01120") ||
                            says("VUID-vkDestroyCommandPool-commandPool-00041") ||
                            says("VUID-vkDestroyDescriptorPool-descriptorPool-00303");
        if (!in_use) text += m + "\n";
    }
    return text;
}

Thrown thrown_by(const std::function<void()> &action) {
    try {
        action();
    } catch (const lamina::Error &e) {
        return {static_cast<int>(e.code()), e.what()};
    }
    return {};
}

} // namespace test
