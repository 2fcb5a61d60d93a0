#include "vulkan/commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
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

constexpr uint64_t staging_bytes = 32ull << 20;

// One piece of an upload in the staging buffer.
struct Piece {
    size_t upload;
    uint64_t staged, at, bytes; // offset in staging; offset in the region; multiples of 16
};

// Copies to staging, with zeros after the end of the data.
void stage(const Upload &upload, const Piece &piece, std::span<std::byte> staging) {
    std::byte *const to = staging.data() + piece.staged;
    const uint64_t size = upload.data.size();
    const uint64_t real = piece.at < size ? std::min(piece.bytes, size - piece.at) : 0;
    if (real != 0) std::memcpy(to, upload.data.data() + piece.at, static_cast<size_t>(real));
    std::memset(to + real, 0, static_cast<size_t>(piece.bytes - real));
}

} // namespace

void upload(const std::shared_ptr<LogicalDevice> &device, std::span<const Upload> uploads) {
    uint64_t total = 0;
    for (const Upload &u : uploads) total += u.to.bytes;
    if (total == 0) return;
    const Buffer staging(device, std::min(total, staging_bytes), Buffer::Place::staging);
    CommandPool pool(device);
    std::vector<Piece> pieces;
    uint64_t filled = 0;
    const auto flush = [&] {
        pool.run_once([&](VkCommandBuffer commands) {
            for (const Piece &p : pieces) {
                const Region &to = uploads[p.upload].to;
                copy(*device, commands, staging, p.staged, *to.buffer, to.offset + p.at, p.bytes);
            }
            place(*device, commands, after_upload);
        });
        pieces.clear();
        filled = 0;
    };
    for (size_t i = 0; i < uploads.size(); ++i)
        for (uint64_t at = 0; at < uploads[i].to.bytes;) {
            const Piece piece{i, filled, at, std::min(uploads[i].to.bytes - at, staging.bytes() - filled)};
            stage(uploads[i], piece, staging.mapped());
            pieces.push_back(piece);
            at += piece.bytes;
            filled += piece.bytes;
            if (filled == staging.bytes()) flush();
        }
    if (!pieces.empty()) flush();
}

} // namespace lamina::vulkan
