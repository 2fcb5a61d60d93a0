// Device memory: buffers, and many tensors packed into few of them.
#pragma once

#include "plan/arena.hpp"
#include "vulkan/logical_device.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

using plan::MemoryRequest, plan::padded;

// A VkBuffer with its own memory.
class Buffer {
  public:
    enum class Place {
        device, // fastest for kernels; mapped if the device shares the host's memory, else reached by a staging buffer
        staging // mapped for the host; cached if possible, since results are read from it
    };
    // Throws Error(memory).
    Buffer(std::shared_ptr<LogicalDevice> device, uint64_t bytes, Place place);
    ~Buffer();
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    [[nodiscard]] VkBuffer handle() const { return buffer_.get(); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    // What the host may write; empty if it cannot. The memory is coherent, so no flush is needed.
    [[nodiscard]] std::span<std::byte> mapped() const {
        return {mapped_, mapped_ != nullptr ? static_cast<size_t>(bytes_) : 0};
    }

  private:
    std::shared_ptr<LogicalDevice> device_;
    uint64_t bytes_;
    Owned<VkDeviceMemory> memory_; // outlives the buffer that it is bound to
    Owned<VkBuffer> buffer_;
    std::byte *mapped_ = nullptr;
};

// The place of a tensor in memory.
struct Region {
    std::shared_ptr<const Buffer> buffer;
    uint64_t offset = 0, bytes = 0;
};

// Packs requests, in order, into device buffers of at most 256 MiB or one request. Each region is aligned as bindings
// need (at least 256) and padded to a multiple of 16 bytes. If not everything fits, nothing is allocated and
// Error(memory) gives the memory needed, the memory available and the biggest requests. The message begins with
// `purpose`: "the weights".
[[nodiscard]] std::vector<Region> allocate(const std::shared_ptr<LogicalDevice> &device,
                                           std::span<const MemoryRequest> requests, const std::string &purpose);

// Of the memory that kernels use.
[[nodiscard]] uint64_t free_bytes(const LogicalDevice &device);

// Offsets of regions that share a buffer, and their padded sizes.
[[nodiscard]] uint64_t region_align(const LogicalDevice &device);
[[nodiscard]] constexpr uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) / align * align;
}

} // namespace lamina::vulkan
