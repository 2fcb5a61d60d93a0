#include "vulkan/bound_dispatch.hpp"

#include "plan/hazards.hpp"

#include <map>

namespace lamina::vulkan {
namespace {

void place_barriers(std::span<BoundDispatch> dispatches) {
    std::map<const Buffer *, uint32_t> numbers;
    std::vector<std::vector<plan::Access>> accesses;
    for (const BoundDispatch &d : dispatches) {
        std::vector<plan::Access> &list = accesses.emplace_back();
        for (size_t i = 0; i < d.bound.size(); ++i) {
            const Region &r = d.bound[i];
            const plan::Binding &b = d.dispatch->bindings[i];
            const uint32_t memory =
                numbers.emplace(r.buffer.get(), static_cast<uint32_t>(numbers.size())).first->second;
            list.push_back({memory, r.offset, r.offset + r.bytes, b.reads, b.writes});
        }
    }
    const std::vector<bool> barriers = plan::place_barriers(accesses);
    for (size_t i = 0; i < dispatches.size(); ++i) dispatches[i].barrier = barriers[i];
}

void write_set(const LogicalDevice &device, VkDescriptorPool pool, BoundDispatch &d) {
    const VolkDeviceTable &vk = device.vk();
    VkDescriptorSetAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocation.descriptorPool = pool;
    allocation.descriptorSetCount = 1;
    allocation.pSetLayouts = &d.pipeline.set_layout;
    check(vk.vkAllocateDescriptorSets(device.handle(), &allocation, &d.set), "allocating a descriptor set");
    std::vector<VkDescriptorBufferInfo> buffers;
    for (const Region &r : d.bound) buffers.push_back({r.buffer->handle(), r.offset, r.bytes});
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = d.set;
    write.descriptorCount = static_cast<uint32_t>(buffers.size()); // from binding 0 on, one after the other
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = buffers.data();
    if (!buffers.empty()) vk.vkUpdateDescriptorSets(device.handle(), 1, &write, 0, nullptr);
}

} // namespace

Owned<VkDescriptorPool> make_ready(const LogicalDevice &device, std::span<BoundDispatch> dispatches) {
    if (dispatches.empty()) return {};
    place_barriers(dispatches);
    VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    for (const BoundDispatch &d : dispatches) size.descriptorCount += static_cast<uint32_t>(d.bound.size());
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = static_cast<uint32_t>(dispatches.size());
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    check(device.vk().vkCreateDescriptorPool(device.handle(), &info, nullptr, &pool), "creating a descriptor pool");
    Owned<VkDescriptorPool> owned = device.own(pool, device.vk().vkDestroyDescriptorPool);
    for (BoundDispatch &d : dispatches) write_set(device, pool, d);
    return owned;
}

void record(const LogicalDevice &device, VkCommandBuffer commands, const BoundDispatch &bound) {
    const VolkDeviceTable &vk = device.vk();
    const plan::Dispatch &d = *bound.dispatch;
    const Pipeline &p = bound.pipeline;
    if (bound.barrier) place(device, commands, between_dispatches);
    vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p.pipeline);
    vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p.layout, 0, 1, &bound.set, 0, nullptr);
    if (!d.push.empty())
        vk.vkCmdPushConstants(commands, p.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<uint32_t>(d.push.size()),
                              d.push.data());
    vk.vkCmdDispatch(commands, d.groups[0], d.groups[1], d.groups[2]);
}

} // namespace lamina::vulkan
