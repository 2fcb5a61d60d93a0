// An open device: its functions, its only queue, and the lock that the queue needs.
#pragma once

#include "vulkan/instance.hpp"
#include "vulkan/physical_device.hpp"

#include <memory>
#include <mutex>
#include <span>

namespace lamina::vulkan {

class LogicalDevice {
  public:
    enum class For {
        running,   // kernels
        compiling, // them only: the driver keeps what its compiler says, where it can
    };
    // Enables exactly the features that the device's description reports. Keeps the instance alive.
    LogicalDevice(std::shared_ptr<VulkanInstance> instance, const PhysicalDevice &physical, For use = For::running);
    ~LogicalDevice();
    LogicalDevice(const LogicalDevice &) = delete;
    LogicalDevice &operator=(const LogicalDevice &) = delete;

    [[nodiscard]] VkDevice handle() const { return device_; }
    [[nodiscard]] const VolkDeviceTable &vk() const { return table_; }
    [[nodiscard]] const PhysicalDevice &physical() const { return physical_; }
    [[nodiscard]] const DeviceInfo &info() const { return physical_.info; }

    // Hands command buffers to the queue; `fence` is signalled when they are done. Thread-safe. `what` describes them
    // in messages: "steps 'a' to 'b' of graph 'encode'". After a failure the queue is idle.
    void submit(std::span<const VkCommandBuffer> commands, VkFence fence, const std::string &what);
    // Waits until everything submitted is done, or counts as done because the device is lost. Objects may be destroyed
    // then.
    void wait_idle();
    // The validation layers check finished work in a thread of their own. This waits for their messages, which waiting
    // for a fence does not do. Does nothing without the layers.
    [[nodiscard]] VkResult hear_validation();

    // Whether the driver can tell what its compiler made of a pipeline: VK_KHR_pipeline_executable_properties.
    [[nodiscard]] bool keeps_statistics() const { return keeps_statistics_; }
    // Bytes of a heap that may still be allocated: according to the driver (VK_EXT_memory_budget), else all of it.
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
    bool reports_budget_ = false, keeps_statistics_ = false;
};

} // namespace lamina::vulkan
