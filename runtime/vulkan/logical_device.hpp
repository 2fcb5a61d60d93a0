// An opened device: its functions, its one queue, and the lock that its queue needs.
#pragma once

#include "vulkan/instance.hpp"
#include "vulkan/physical_device.hpp"

#include <memory>
#include <mutex>
#include <span>

namespace lamina::vulkan {

class LogicalDevice {
  public:
    // Enables exactly the features that the device's description reports. Keeps the instance alive.
    LogicalDevice(std::shared_ptr<VulkanInstance> instance, const PhysicalDevice &physical);
    ~LogicalDevice();
    LogicalDevice(const LogicalDevice &) = delete;
    LogicalDevice &operator=(const LogicalDevice &) = delete;

    [[nodiscard]] VkDevice handle() const { return device_; }
    [[nodiscard]] const VolkDeviceTable &vk() const { return table_; }
    [[nodiscard]] const PhysicalDevice &physical() const { return physical_; }
    [[nodiscard]] const DeviceInfo &info() const { return physical_.info; }

    // Hands command buffers to the queue; `fence` is signalled when they are done. Thread-safe. `what` they do is for
    // messages: "steps 'a' to 'b' of graph 'encode'". After a failure the queue is idle.
    void submit(std::span<const VkCommandBuffer> commands, VkFence fence, const std::string &what);
    // Everything submitted is done, or counts as done where the device is lost: its objects may be destroyed.
    void wait_idle();
    // The validation layers look into work that is done in a thread of their own: waits for what they have to say of
    // it, which waiting for a fence does not. Nothing without them.
    [[nodiscard]] VkResult hear_validation();

    // Bytes of a heap that may still be allocated: what the driver says (VK_EXT_memory_budget), else all of it.
    [[nodiscard]] uint64_t free_bytes(uint32_t heap) const;

    template <class T> [[nodiscard]] Owned<T> own(T handle, typename Owned<T>::Destroy destroy) const {
        return Owned<T>(device_, handle, destroy);
    }

  private:
    std::shared_ptr<VulkanInstance> instance_;
    PhysicalDevice physical_;
    VkDevice device_ = VK_NULL_HANDLE;
    VolkDeviceTable table_{};
    VkQueue queue_ = VK_NULL_HANDLE;
    std::mutex queue_mutex_;
    bool reports_budget_ = false;
};

} // namespace lamina::vulkan
