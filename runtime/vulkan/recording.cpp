#include "vulkan/recording.hpp"

#include "plan/hazards.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lamina::vulkan {

namespace {

// Operations that are submitted together: 50 ms on a slow GPU that does 200 of them a nanosecond. Watchdogs begin to
// act after seconds.
constexpr double segment_work = 50e6 * 200;

// Operations of a dispatch, estimated from what it touches: exact for a matrix product, whose three matrices of m*k,
// k*n and m*n elements stand for 2*m*k*n operations, and too high for lighter work.
double work_of(const plan::Dispatch &dispatch) {
    std::vector<double> elements(3, 1.0);
    for (const plan::Binding &b : dispatch.bindings) elements.push_back(static_cast<double>(b.bytes) / 4);
    std::partial_sort(elements.begin(), elements.begin() + 3, elements.end(), std::greater<>());
    return 2 * std::sqrt(elements[0] * elements[1] * elements[2]);
}

// Where barriers stand, from the bytes that each dispatch reads and writes.
std::vector<bool> barriers_between(std::span<const plan::Dispatch *const> dispatches,
                                   std::span<const std::vector<Region>> bound) {
    std::map<const Buffer *, uint32_t> numbers;
    std::vector<std::vector<plan::Access>> accesses(dispatches.size());
    for (size_t d = 0; d < dispatches.size(); ++d)
        for (size_t i = 0; i < bound[d].size(); ++i) {
            const Region &r = bound[d][i];
            const plan::Binding &b = dispatches[d]->bindings[i];
            const uint32_t memory =
                numbers.emplace(r.buffer.get(), static_cast<uint32_t>(numbers.size())).first->second;
            accesses[d].push_back({memory, r.offset, r.offset + r.bytes, b.reads, b.writes});
        }
    return plan::place_barriers(accesses);
}

} // namespace

Recording::Recording(std::shared_ptr<LogicalDevice> device, const Parts &parts)
    : device_(std::move(device)), pool_(device_) {
    std::vector<Task> tasks = find_tasks(parts);
    write_sets(tasks);
    for (const Transfer &input : parts.inputs)
        uploads_.push_back(pool_.record([&](VkCommandBuffer commands) {
            copy(*device_, commands, parts.staging, input.staged, *input.tensor.buffer, input.tensor.offset,
                 input.bytes);
            place(*device_, commands, after_upload);
        }));
    size_t begin = 0;
    do { // at least once: a graph without steps still downloads its outputs
        size_t end = begin;
        double work = 0;
        while (end < tasks.size() && (end == begin || work + work_of(*tasks[end].dispatch) <= segment_work))
            work += work_of(*tasks[end++].dispatch);
        record_segment(parts, std::span(tasks).subspan(begin, end - begin), begin == 0, end == tasks.size());
        begin = end;
    } while (begin < tasks.size());
}

std::vector<Recording::Task> Recording::find_tasks(const Parts &parts) {
    std::vector<Task> tasks;
    std::vector<const plan::Dispatch *> dispatches;
    std::vector<std::vector<Region>> bound;
    for (size_t s = 0; s < parts.steps.size(); ++s)
        for (const plan::Dispatch &d : parts.steps[s].plan.dispatches) {
            std::vector<Region> regions;
            for (const plan::Binding &b : d.bindings) regions.push_back(parts.memory.bound(parts.graph.steps[s], s, b));
            tasks.push_back({s, &d, parts.pipelines[tasks.size()], regions, VK_NULL_HANDLE, false});
            dispatches.push_back(&d);
            bound.push_back(std::move(regions));
        }
    const std::vector<bool> barriers = barriers_between(dispatches, bound);
    for (size_t i = 0; i < tasks.size(); ++i) tasks[i].barrier = barriers[i];
    return tasks;
}

void Recording::write_sets(std::vector<Task> &tasks) {
    if (tasks.empty()) return;
    const VolkDeviceTable &vk = device_->vk();
    VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    for (const Task &t : tasks) size.descriptorCount += static_cast<uint32_t>(t.bound.size());
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = static_cast<uint32_t>(tasks.size());
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    check(vk.vkCreateDescriptorPool(device_->handle(), &info, nullptr, &pool), "creating a descriptor pool");
    descriptors_ = device_->own(pool, vk.vkDestroyDescriptorPool);

    for (Task &t : tasks) {
        VkDescriptorSetAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        allocation.descriptorPool = pool;
        allocation.descriptorSetCount = 1;
        allocation.pSetLayouts = &t.pipeline.set_layout;
        check(vk.vkAllocateDescriptorSets(device_->handle(), &allocation, &t.set), "allocating a descriptor set");
        std::vector<VkDescriptorBufferInfo> buffers;
        for (const Region &r : t.bound) buffers.push_back({r.buffer->handle(), r.offset, r.bytes});
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = t.set;
        write.descriptorCount = static_cast<uint32_t>(buffers.size()); // from binding 0 on, one after the other
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = buffers.data();
        if (!buffers.empty()) vk.vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
    }
}

void Recording::record_task(VkCommandBuffer commands, const Task &task) const {
    const VolkDeviceTable &vk = device_->vk();
    const plan::Dispatch &d = *task.dispatch;
    if (task.barrier) place(*device_, commands, between_dispatches);
    vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, task.pipeline.pipeline);
    vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, task.pipeline.layout, 0, 1, &task.set, 0,
                               nullptr);
    if (!d.push.empty())
        vk.vkCmdPushConstants(commands, task.pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                              static_cast<uint32_t>(d.push.size()), d.push.data());
    vk.vkCmdDispatch(commands, d.groups[0], d.groups[1], d.groups[2]);
}

void Recording::record_segment(const Parts &parts, std::span<const Task> tasks, bool first, bool last) {
    const VkCommandBuffer commands = pool_.record([&](VkCommandBuffer to) {
        if (first && parts.poison) {
            for (const Region &r : parts.memory.volatile_regions()) fill(*device_, to, r, *parts.poison);
            place(*device_, to, after_upload);
        }
        for (const Task &t : tasks) record_task(to, t);
        if (!last) return;
        place(*device_, to, before_download);
        for (const Transfer &output : parts.outputs)
            copy(*device_, to, *output.tensor.buffer, output.tensor.offset, parts.staging, output.staged, output.bytes);
        place(*device_, to, before_host);
    });
    std::string what = "the copies";
    if (!tasks.empty()) {
        const auto name = [&](size_t step) { return "'" + parts.graph.steps[step].name + "'"; };
        const size_t from = tasks.front().step, to = tasks.back().step;
        what = from == to ? "step " + name(from) : "steps " + name(from) + " to " + name(to);
    }
    segments_.push_back({commands, Fence(device_), what + " of graph '" + parts.graph.graph + "'"});
}

void Recording::run(std::span<const size_t> inputs) {
    std::vector<VkCommandBuffer> commands;
    for (const size_t i : inputs) commands.push_back(uploads_[i]);
    for (Segment &segment : segments_) {
        commands.push_back(segment.commands);
        segment.fence.reset();
        device_->submit(commands, segment.fence.handle(), segment.what);
        commands.clear();
    }
    for (const Segment &segment : segments_) segment.fence.wait(segment.what);
}

} // namespace lamina::vulkan
