#include "vulkan/open_device.hpp"

#include "vulkan/backend.hpp"
#include "vulkan/pipeline_cache.hpp"

namespace lamina::vulkan {

namespace {

class OpenDevice final : public Device {
  public:
    OpenDevice(const std::shared_ptr<VulkanInstance> &instance, const PhysicalDevice &physical)
        : instance_(instance), device_(std::make_shared<LogicalDevice>(instance, physical)),
          pipelines_(std::make_shared<Pipelines>(
              device_, instance->keeps_pipelines() ? pipeline_cache_file(physical.info) : std::nullopt)) {}

    [[nodiscard]] const DeviceInfo &info() const override { return device_->info(); }
    [[nodiscard]] std::unique_ptr<plan::Backend> backend(std::shared_ptr<const abi::Registry> plugins,
                                                         model::Weights weights) override {
        return std::make_unique<VulkanBackend>(device_, pipelines_, std::move(plugins), std::move(weights));
    }
    [[nodiscard]] std::shared_ptr<Device> again() override { return open_device(instance_, device_->physical()); }

  private:
    std::shared_ptr<VulkanInstance> instance_;
    std::shared_ptr<LogicalDevice> device_;
    std::shared_ptr<Pipelines> pipelines_;
};

} // namespace

std::shared_ptr<Device> open_device(const std::shared_ptr<VulkanInstance> &instance, const PhysicalDevice &physical) {
    auto device = std::make_shared<OpenDevice>(instance, physical);
    watch_for_exit();
    return device;
}

} // namespace lamina::vulkan
