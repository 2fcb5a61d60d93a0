#include "vulkan/open_device.hpp"

#include "vulkan/backend.hpp"
#include "vulkan/pipeline_cache.hpp"
#include "vulkan/statistics.hpp"

#include <mutex>

namespace lamina::vulkan {

namespace {

class OpenDevice final : public Device, public std::enable_shared_from_this<OpenDevice> {
  public:
    OpenDevice(const std::shared_ptr<VulkanInstance> &instance, const PhysicalDevice &physical,
               std::shared_ptr<const abi::Registry> plugins)
        : Device(std::move(plugins), physical.info.capabilities, physical.limits.maxPerStageDescriptorStorageBuffers),
          instance_(instance), device_(std::make_shared<LogicalDevice>(instance, physical)),
          pipelines_(std::make_shared<Pipelines>(
              device_, instance->keeps_pipelines() ? pipeline_cache_file(physical.info) : std::nullopt)) {}

    [[nodiscard]] const DeviceInfo &info() const override { return device_->info(); }
    [[nodiscard]] std::unique_ptr<plan::Backend> backend(model::Weights weights) override {
        return std::make_unique<VulkanBackend>(device_, pipelines_, planner(), std::move(weights));
    }
    [[nodiscard]] bool parallel() const override { return true; }
    // Software drivers compile kernels only when they run, one after the other on an open device, but at the same time
    // on two.
    [[nodiscard]] std::shared_ptr<plan::Device> another() override {
        if (info().kind != DeviceInfo::Kind::software) return shared_from_this();
        return open_device(instance_, device_->physical(), plugins());
    }
    [[nodiscard]] std::optional<plan::Compiled> compile(const abi::Layer &layer,
                                                        const plan::Pipeline &wanted) override {
        std::call_once(compiler_once_, [&] {
            compiler_ = std::make_shared<LogicalDevice>(instance_, device_->physical(), LogicalDevice::For::compiling);
            compiled_ = std::make_shared<Pipelines>(compiler_, std::nullopt);
        });
        const lamina_kernel &kernel = layer.contract->kernels[wanted.kernel];
        const auto kernels = planner()->kernels_of(layer);
        PipelineRequest request{&kernel, &(*kernels)[wanted.kernel], {}, std::string("kernel '") + kernel.name + "'"};
        for (const auto &[id, bits] : wanted.constants) request.specs.push_back({id, bits});
        try {
            const std::vector<Pipeline> built = compiled_->build({&request, 1});
            return plan::Compiled{"", statistics_of(*compiler_, built.front().pipeline)};
        } catch (const Error &e) {
            if (e.code() == ErrorCode::device_lost) throw;
            return plan::Compiled{e.what(), {}};
        }
    }

  private:
    std::shared_ptr<VulkanInstance> instance_;
    std::shared_ptr<LogicalDevice> device_;
    std::shared_ptr<Pipelines> pipelines_;
    // For compile(), which runs nothing: another device, because a driver may compile otherwise while it keeps
    // statistics.
    std::once_flag compiler_once_;
    std::shared_ptr<LogicalDevice> compiler_;
    std::shared_ptr<Pipelines> compiled_;
};

} // namespace

std::shared_ptr<Device> open_device(const std::shared_ptr<VulkanInstance> &instance, const PhysicalDevice &physical,
                                    std::shared_ptr<const abi::Registry> plugins) {
    auto device = std::make_shared<OpenDevice>(instance, physical, std::move(plugins));
    watch_for_exit();
    return device;
}

} // namespace lamina::vulkan
