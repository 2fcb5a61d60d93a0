// The compute pipelines of a device. Each kernel is built once for each set of specialization constants, in parallel,
// and kept. Layers with the same kernel, such as products, share its pipelines.
#pragma once

#include "plan/reflect.hpp"
#include "vulkan/logical_device.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::vulkan {

// Handles that live as long as the Pipelines they come from.
struct Pipeline {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
};

struct PipelineRequest {
    const lamina_kernel *kernel = nullptr; // plugins are never unloaded, so its SPIR-V stays where it is
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
    // refuses a kernel, Error(no_device) for more bindings than the device allows. Thread-safe: threads build at the
    // same time, and one waits for what another is building.
    [[nodiscard]] std::vector<Pipeline> build(std::span<const PipelineRequest> requests);

  private:
    // The SPIR-V of a kernel, and the ids and values of its constants.
    using Key = std::pair<std::string_view, std::vector<uint32_t>>;
    using Wanted = std::map<Key, const PipelineRequest *>;
    struct Layout {
        Owned<VkDescriptorSetLayout> set;
        Owned<VkPipelineLayout> pipeline;
    };

    [[nodiscard]] const Layout &layout(const PipelineRequest &request);
    [[nodiscard]] Owned<VkPipeline> compile(const PipelineRequest &request, VkPipelineLayout layout) const;
    [[nodiscard]] std::vector<Owned<VkPipeline>> compile_all(const Wanted &wanted,
                                                             std::span<const VkPipelineLayout> layouts) const;
    // Builds what no thread has built yet, and returns true if that is everything; if other threads are building some
    // of it, waits for them.
    bool build_missing(const Wanted &wanted, std::unique_lock<std::mutex> &lock);
    void save();

    std::shared_ptr<LogicalDevice> device_;
    std::optional<std::filesystem::path> cache_file_;
    Owned<VkPipelineCache> cache_;
    std::mutex mutex_;                            // guards all below
    size_t saved_bytes_ = 0;                      // of the driver's data, in the file
    std::chrono::steady_clock::time_point saved_; // when it was looked at last
    std::condition_variable built_;
    std::set<Key> building_;                                // by some thread, which then tells the others
    std::map<std::pair<size_t, uint32_t>, Layout> layouts_; // by number of bindings and bytes of push constants
    std::map<Key, Owned<VkPipeline>> pipelines_;
};

} // namespace lamina::vulkan
