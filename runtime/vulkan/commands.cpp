#include "vulkan/commands.hpp"

#include "base/mapped_file.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

namespace lamina::vulkan {

CommandPool::CommandPool(std::shared_ptr<LogicalDevice> device) : device_(std::move(device)) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.queueFamilyIndex = device_->physical().queue_family;
    VkCommandPool pool = VK_NULL_HANDLE;
    check(device_->vk().vkCreateCommandPool(device_->handle(), &info, nullptr, &pool), "creating a command pool");
    pool_ = device_->own(pool, device_->vk().vkDestroyCommandPool);
}

VkCommandBuffer CommandPool::record(const std::function<void(VkCommandBuffer)> &record) {
    const VolkDeviceTable &vk = device_->vk();
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_.get();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vk.vkAllocateCommandBuffers(device_->handle(), &info, &commands), "allocating a command buffer");
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vk.vkBeginCommandBuffer(commands, &begin), "beginning a command buffer");
    record(commands);
    check(vk.vkEndCommandBuffer(commands), "ending a command buffer");
    return commands;
}

void CommandPool::run_once(const std::string &what, const std::function<void(VkCommandBuffer)> &action) {
    const VkCommandBuffer commands = record(action);
    const Fence fence(device_);
    device_->submit({&commands, 1}, fence.handle(), what);
    fence.wait(what);
    device_->vk().vkFreeCommandBuffers(device_->handle(), pool_.get(), 1, &commands);
}

Fence::Fence(std::shared_ptr<LogicalDevice> device) : device_(std::move(device)) {
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkFence fence = VK_NULL_HANDLE;
    check(device_->vk().vkCreateFence(device_->handle(), &info, nullptr, &fence), "creating a fence");
    fence_ = device_->own(fence, device_->vk().vkDestroyFence);
}

void Fence::reset() { check(device_->vk().vkResetFences(device_->handle(), 1, fence_.address()), "resetting a fence"); }

void Fence::wait(const std::string &what) const {
    using namespace std::chrono;
    constexpr seconds slice{2}, limit{600};
    const auto device = [&] { return "device " + device_->info().name; };
    for (seconds waited{0}; waited < limit; waited += slice) {
        VkResult result = device_->vk().vkWaitForFences(device_->handle(), 1, fence_.address(), VK_TRUE,
                                                        static_cast<uint64_t>(nanoseconds(slice).count()));
        if (result == VK_SUCCESS) result = device_->hear_validation();
        if (result == VK_SUCCESS) return;
        if (result == VK_TIMEOUT) continue;
        device_->wait_idle(); // later submissions may still run
        if (result == VK_ERROR_DEVICE_LOST)
            throw Error(ErrorCode::device_lost,
                        device() + " was lost while it ran " + what +
                            ". Its driver reset it; see the system log, or try another device.");
        fail(result, "waiting for " + what);
    }
    throw Error(ErrorCode::device_lost, device() + " did not finish " + what + " within " +
                                            std::to_string(limit.count()) + " seconds; Lamina gave up waiting.");
}

void place(const LogicalDevice &device, VkCommandBuffer commands, const Barrier &barrier) {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = barrier.written;
    memory.dstAccessMask = barrier.used;
    device.vk().vkCmdPipelineBarrier(commands, barrier.from, barrier.to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void copy(const LogicalDevice &device, VkCommandBuffer commands, const Buffer &from, uint64_t from_offset,
          const Buffer &to, uint64_t to_offset, uint64_t bytes) {
    if (bytes == 0) return; // an empty tensor
    const VkBufferCopy region{from_offset, to_offset, bytes};
    device.vk().vkCmdCopyBuffer(commands, from.handle(), to.handle(), 1, &region);
}

void fill(const LogicalDevice &device, VkCommandBuffer commands, const Region &region, uint32_t word) {
    device.vk().vkCmdFillBuffer(commands, region.buffer->handle(), region.offset, region.bytes, word);
}

namespace {

constexpr uint64_t staging_bytes = 32ull << 20; // also of what leaves memory at a time

std::span<const std::byte> part(std::span<const std::byte> data, uint64_t at, uint64_t bytes) {
    const uint64_t begin = std::min<uint64_t>(at, data.size());
    return data.subspan(begin, std::min<uint64_t>(bytes, data.size() - begin));
}

// Zeros follow the data.
void write(std::span<const std::byte> data, std::span<std::byte> to) {
    std::ranges::fill(std::ranges::copy(data, to.begin()).out, to.end(), std::byte{0});
    if (mapping_of(data) != nullptr) let_go(data);
}

} // namespace

Uploader::Uploader(std::shared_ptr<LogicalDevice> device, uint64_t total) : device_(std::move(device)), total_(total) {}

void Uploader::add(std::span<const std::byte> data, const Region &to) {
    const std::span<std::byte> mapped = to.buffer->mapped();
    if (mapped.empty() && !staging_) staging_.emplace(device_, std::min(total_, staging_bytes), Buffer::Place::staging);
    for (uint64_t at = 0, bytes = 0; at < to.bytes; at += bytes) {
        const std::span<std::byte> room =
            mapped.empty() ? staging_->mapped().subspan(filled_) : mapped.subspan(to.offset + at);
        bytes = std::min<uint64_t>({to.bytes - at, staging_bytes, room.size()});
        write(part(data, at, bytes), room.first(bytes));
        if (!mapped.empty()) continue;
        pieces_.push_back({{to.buffer, to.offset + at, bytes}, filled_});
        filled_ += bytes;
        if (filled_ == staging_->bytes()) finish();
    }
}

void Uploader::finish() {
    if (pieces_.empty()) return;
    CommandPool(device_).run_once([&](VkCommandBuffer commands) {
        for (const Piece &p : pieces_)
            copy(*device_, commands, *staging_, p.staged, *p.to.buffer, p.to.offset, p.to.bytes);
        place(*device_, commands, after_upload);
    });
    pieces_.clear();
    filled_ = 0;
}

void upload(const std::shared_ptr<LogicalDevice> &device, std::span<const Upload> uploads) {
    uint64_t total = 0;
    for (const Upload &u : uploads) total += u.to.bytes;
    Uploader uploader(device, total);
    for (const Upload &u : uploads) uploader.add(u.data, u.to);
    uploader.finish();
}

} // namespace lamina::vulkan
