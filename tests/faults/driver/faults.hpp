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
    // ---- What calls return ----
    // The n-th call of `function` ("vkQueueSubmit"; "": any that may fail) returns `answer` without being forwarded,
    // and with `again` so does every n-th call after it. VK_ERROR_DEVICE_LOST stays: until the device is destroyed, all
    // of its submissions and waits return it.
    std::string function;
    uint64_t nth = 0; // 0: none
    VkResult answer = VK_SUCCESS;
    bool again = false;
    uint64_t calls = 0;                     // of `function` so far
    std::map<std::string, uint64_t> called; // how often, by function: all that may fail
    bool opens = true;                      // false: vkCreateDevice returns VK_ERROR_INITIALIZATION_FAILED
    // Waits return VK_TIMEOUT at once, as if the time had passed.
    bool fences_hang = false;

    // ---- What dispatches do, on devices that are opened from now on ----
    // In every n-th submission, the last workgroups of each dispatch do not run; or none do.
    uint64_t lossy_submission = 0; // n; 0: none
    bool loses_all = false;

    // ---- What devices can do ----
    void (*change)(VkPhysicalDeviceProperties &) = nullptr;
    uint64_t max_allocation_bytes = 0; // 0: unchanged
    uint64_t heap_bytes = 0;           // of every heap, and free in it; 0: unchanged
    bool computes = true;              // false: no queue family supports compute
    bool timestamps = true;            // false: no queue family has any

    // ---- Objects that were created and not destroyed ----
    std::map<std::string, int64_t> alive; // by the function that created them: "vkCreateBuffer"

    std::mutex mutex; // guards everything that calls change; pipelines are built by several threads
};

} // namespace test
