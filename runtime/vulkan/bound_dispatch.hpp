// Dispatches with their bindings, ready to be recorded.
#pragma once

#include "plan/layer_plan.hpp"
#include "vulkan/commands.hpp"
#include "vulkan/pipelines.hpp"

#include <span>
#include <vector>

namespace lamina::vulkan {

struct BoundDispatch {
    const plan::Dispatch *dispatch = nullptr;
    Pipeline pipeline{};
    std::vector<Region> bound{};
    size_t step = 0; // of the graph
    VkDescriptorSet set = VK_NULL_HANDLE;
    bool barrier = false; // before it
};

// Writes a descriptor set for each dispatch, and finds where barriers are needed from the bytes that each reads and
// writes. The sets live as long as the returned pool.
[[nodiscard]] Owned<VkDescriptorPool> make_ready(const LogicalDevice &device, std::span<BoundDispatch> dispatches);

void record(const LogicalDevice &device, VkCommandBuffer commands, const BoundDispatch &dispatch);

} // namespace lamina::vulkan
