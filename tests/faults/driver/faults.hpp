// The faults that the faulty driver injects. Tests access the only object of this type by test::faulty_driver(). The
// driver is a separate library, which Vulkan's loader opens.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace test {

struct Faults {
    // ---- What calls answer ----
    // The n-th call of `function` ("vkQueueSubmit"; "": of any that may fail) answers `answer` instead of being made,
    // and with `again` so does every n-th after it. VK_ERROR_DEVICE_LOST stays: until it is destroyed, that device
    // answers it to every submission and every wait.
    std::string function;
    uint64_t nth = 0; // 0: none
    VkResult answer = VK_SUCCESS;
    bool again = false;
    uint64_t calls = 0; // of `function` so far
    bool opens = true;  // false: vkCreateDevice answers VK_ERROR_INITIALIZATION_FAILED
    // Waits answer VK_TIMEOUT at once, as if all the time had passed.
    bool fences_hang = false;

    // ---- What devices can do ----
    void (*change)(VkPhysicalDeviceProperties &) = nullptr;
    uint64_t max_allocation_bytes = 0; // 0: as it is
    bool computes = true;              // false: no queue family does

    // ---- What was made and not destroyed ----
    std::map<std::string, int64_t> alive; // by what made it: "vkCreateBuffer"

    std::mutex mutex; // of all that calls change; pipelines are built by several threads
};

} // namespace test
