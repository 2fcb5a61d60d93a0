// The compute pipelines of a device. Each kernel is built once for each set of specialization constants, in parallel,
// and kept.
#pragma once

#include "plan/reflect.hpp"
#include "vulkan/logical_device.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// Handles that live as long as the Pipelines they come from.
struct Pipeline {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
};

struct PipelineRequest {
    const lamina_kernel *kernel = nullptr; // plugins are never unloaded, so the address identifies the kernel
    const plan::KernelInfo *info = nullptr;
    std::vector<lamina_spec> specs; // sorted by id
    std::string where;              // for messages: "layer 'encoder.0.norm', kernel 'layer_norm'"
};

class Pipelines {
  public:
    // `cache_file`: where the driver's compiled code is kept between runs, if anywhere.
    Pipelines(std::shared_ptr<LogicalDevice> device, std::optional<std::filesystem::path> cache_file);
    ~Pipelines();
    Pipelines(const Pipelines &) = delete;
    Pipelines &operator=(const Pipelines &) = delete;

    // One pipeline per request, in order. Missing ones are built on all cores. Throws Error(failure) if the driver
    // refuses a kernel, Error(no_device) for more bindings than the device allows. Thread-safe.
    [[nodiscard]] std::vector<Pipeline> build(std::span<const PipelineRequest> requests);

  private:
    // The kernel, and the ids and values of its constants.
    using Key = std::pair<const lamina_kernel *, std::vector<uint32_t>>;
    struct Layout {
        Owned<VkDescriptorSetLayout> set;
        Owned<VkPipelineLayout> pipeline;
    };

    [[nodiscard]] const Layout &layout(const PipelineRequest &request);
    [[nodiscard]] Owned<VkPipeline> compile(const PipelineRequest &request, VkPipelineLayout layout) const;
    void compile_all(std::span<const PipelineRequest *const> missing, std::span<const VkPipelineLayout> layouts,
                     std::span<Owned<VkPipeline>> made) const;
    void save() const;

    std::shared_ptr<LogicalDevice> device_;
    std::optional<std::filesystem::path> cache_file_;
    Owned<VkPipelineCache> cache_;
    std::mutex mutex_;
    std::map<std::pair<size_t, uint32_t>, Layout> layouts_; // by number of bindings and bytes of push constants
    std::map<Key, Owned<VkPipeline>> pipelines_;
};

} // namespace lamina::vulkan
