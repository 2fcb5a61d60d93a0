// The faulty driver on top of Mesa's lavapipe, as the only Vulkan driver of this process.
#pragma once

#include "driver/faults.hpp"
#include "vulkan/device.hpp"

#include <lamina/error.hpp>

#include <functional>
#include <memory>
#include <string>

namespace test {

// Every call returns it without faults. Null if lavapipe is not installed: the test is then skipped, or fails if it is
// required (report_absent()).
[[nodiscard]] Faults *faulty_driver();

// From now on, the n-th call of `function` returns `answer` ("": any function that may fail).
void fail(Faults &faults, const std::string &function, uint64_t n, VkResult answer);
// From now on, every n-th call does.
void fail_again_and_again(Faults &faults, const std::string &function, uint64_t n, VkResult answer);
void heal(Faults &faults); // from now on, no call fails

// How often `function` is called by `action`, which succeeds.
[[nodiscard]] uint64_t calls_of(Faults &faults, const std::string &function, const std::function<void()> &action);

// From now on, the device says that its memory is its own, so that weights get there through a staging buffer. Without
// this, the host writes them in place.
void give_own_memory(Faults &faults);

// "2 of vkCreateBuffer"; empty if everything that was created has been destroyed.
[[nodiscard]] std::string leaked(Faults &faults);

// An instance with validation layers, which are between Lamina and the faulty driver.
[[nodiscard]] std::shared_ptr<lamina::vulkan::Instance> validated_instance();
// Their messages so far; tests expect "".
[[nodiscard]] std::string messages_of(const lamina::vulkan::Instance &instance);

// The same after a device was lost, without messages that its objects are in use: the layers see that waiting ended in
// VK_ERROR_DEVICE_LOST and wrongly treat this as not having waited. "For the purpose of determining whether [...]
// resources are considered in-use by the device, a return value of VK_ERROR_DEVICE_LOST is equivalent to VK_SUCCESS"
// (Vulkan's specification, Lost Device).
[[nodiscard]] std::string messages_after_loss(const lamina::vulkan::Instance &instance);

// The code and message of the error that an action throws; code 0 if it throws none.
struct Thrown {
    int code = 0;
    std::string message;
    [[nodiscard]] bool is(lamina::ErrorCode expected) const { return code == static_cast<int>(expected); }
};
[[nodiscard]] Thrown thrown_by(const std::function<void()> &action);

} // namespace test
