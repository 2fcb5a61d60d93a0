// The Vulkan loader and one instance, with the messages of the validation layers.
#pragma once

#include "vulkan/device.hpp"
#include "vulkan/physical_device.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lamina::vulkan {

// Messages of the validation layers; they may come from any thread.
class ValidationLog {
  public:
    explicit ValidationLog(std::function<void(const std::string &)> on_message) : on_message_(std::move(on_message)) {}
    void add(std::string message);
    [[nodiscard]] std::vector<std::string> messages() const;

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> messages_;
    std::function<void(const std::string &)> on_message_; // may be empty
};

class VulkanInstance final : public Instance, public std::enable_shared_from_this<VulkanInstance> {
  public:
    // As Instance::create(), with the caller's loader: its vkGetInstanceProcAddr, or null for libvulkan. Vulkan's
    // functions are volk's globals, so all instances of a process must use the same loader at a time.
    static std::shared_ptr<VulkanInstance> create(const InstanceOptions &options, PFN_vkGetInstanceProcAddr loader,
                                                  std::string &why_not);
    ~VulkanInstance() override;
    VulkanInstance(const VulkanInstance &) = delete;
    VulkanInstance &operator=(const VulkanInstance &) = delete;

    [[nodiscard]] const std::vector<DeviceInfo> &devices() const override { return infos_; }
    [[nodiscard]] std::shared_ptr<Device> open(uint32_t index, std::shared_ptr<const abi::Registry> plugins) override;
    [[nodiscard]] std::vector<std::string> validation_messages() const override { return log_.messages(); }

    [[nodiscard]] bool keeps_pipelines() const { return keeps_pipelines_; }
    [[nodiscard]] bool is_validated() const { return messenger_ != VK_NULL_HANDLE; }
    [[nodiscard]] const std::vector<PhysicalDevice> &physical_devices() const { return physical_; }

  private:
    explicit VulkanInstance(const InstanceOptions &options)
        : keeps_pipelines_(options.pipeline_cache), log_(options.on_message) {}
    [[nodiscard]] VkResult create_instance(const InstanceOptions &options, uint32_t api_version);
    void listen();
    [[nodiscard]] VkResult find_devices(uint32_t api_version);

    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    // Kept per instance: volk's globals belong to the instance that was made last.
    PFN_vkDestroyInstance destroy_instance_ = nullptr;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
    bool keeps_pipelines_;
    ValidationLog log_;
    std::vector<PhysicalDevice> physical_;
    std::vector<DeviceInfo> infos_;
};

} // namespace lamina::vulkan
