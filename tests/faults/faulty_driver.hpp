// The faulty driver over Mesa's lavapipe, as the one Vulkan driver of this process.
#pragma once

#include "driver/faults.hpp"
#include "vulkan/device.hpp"

#include <lamina/error.hpp>

#include <functional>
#include <memory>
#include <string>

namespace test {

// Without a fault, at every call. Null where lavapipe is not installed: the test is then skipped, or fails where
// it is required (report_absent()).
[[nodiscard]] Faults *faulty_driver();

// From now on the n-th call of `function` answers `answer` ("": of any function that may fail).
void fail(Faults &faults, const std::string &function, uint64_t n, VkResult answer);
// From now on every n-th does.
void fail_again_and_again(Faults &faults, const std::string &function, uint64_t n, VkResult answer);
void heal(Faults &faults); // none does

// How often `function` is called by `action`, which succeeds.
[[nodiscard]] uint64_t calls_of(Faults &faults, const std::string &function, const std::function<void()> &action);

// "2 of vkCreateBuffer"; empty when all that was made is destroyed.
[[nodiscard]] std::string leaked(Faults &faults);

// An instance with validation layers, which stand between Lamina and the faulty driver.
[[nodiscard]] std::shared_ptr<lamina::vulkan::Instance> validated_instance();
// What they said so far; "" is what a test expects.
[[nodiscard]] std::string messages_of(const lamina::vulkan::Instance &instance);

// The same after a device was lost, less that its objects are in use: the layers hear that waiting for them ended in
// VK_ERROR_DEVICE_LOST and take it for not having waited, whereas "for the purpose of determining whether [...]
// resources are considered in-use by the device, a return value of VK_ERROR_DEVICE_LOST is equivalent to VK_SUCCESS"
// (Vulkan's specification, Lost Device).
[[nodiscard]] std::string messages_after_loss(const lamina::vulkan::Instance &instance);

// The code and message that an action throws; code 0 when it throws nothing.
struct Thrown {
    int code = 0;
    std::string message;
    [[nodiscard]] bool is(lamina::ErrorCode expected) const { return code == static_cast<int>(expected); }
};
[[nodiscard]] Thrown thrown_by(const std::function<void()> &action);

} // namespace test
