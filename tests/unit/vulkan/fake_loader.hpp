// A Vulkan loader with one fake device, so that device logic is tested without any driver.
#pragma once

#include "vulkan/api.hpp"

#include <string>
#include <vector>

namespace test {

struct FakeDevice {
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceSubgroupProperties subgroup{};
    VkBool32 float16 = VK_FALSE, storage16 = VK_FALSE, int64 = VK_FALSE;
    VkQueueFlags queue_flags = VK_QUEUE_COMPUTE_BIT;
    std::vector<std::string> extensions;

    FakeDevice(); // one that Lamina can run on: with the required limits and no optional feature
};

struct FakeLoader {
    uint32_t api_version = VK_API_VERSION_1_3;
    VkResult create_instance = VK_SUCCESS;
    std::vector<FakeDevice> devices{FakeDevice{}};
    bool has_validation_layer = false;
    VkDebugUtilsMessengerCreateInfoEXT messenger{}; // that listens to it
};

// The loader that fake_get_proc() imitates from now on; a reference, so that tests can change it.
FakeLoader &fake_loader();
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fake_get_proc(VkInstance instance, const char *name);

} // namespace test
