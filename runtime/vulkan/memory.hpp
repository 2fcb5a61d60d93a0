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
        device, // fastest for kernels; reached from the host through a staging buffer
        staging // mapped for the host; cached where the device has that, since results are read from it
    };
    // Throws Error(memory).
    Buffer(std::shared_ptr<LogicalDevice> device, uint64_t bytes, Place place);
    ~Buffer();
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    [[nodiscard]] VkBuffer handle() const { return buffer_.get(); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    // Staging only. Coherent: nothing needs to be flushed.
    [[nodiscard]] std::span<std::byte> mapped() const { return {mapped_, static_cast<size_t>(bytes_)}; }

  private:
    std::shared_ptr<LogicalDevice> device_;
    uint64_t bytes_;
    Owned<VkDeviceMemory> memory_; // outlives the buffer that it is bound to
    Owned<VkBuffer> buffer_;
    std::byte *mapped_ = nullptr;
};

// Where a tensor lies.
struct Region {
    std::shared_ptr<const Buffer> buffer;
    uint64_t offset = 0, bytes = 0;
};

// Packs requests, in order, into device buffers of at most 256 MiB or one request, each region aligned to what bindings
// need (at least 256) and padded to a multiple of 16 bytes. Nothing is allocated unless all of it fits: throws
// Error(memory) with need, have and the biggest requests. `purpose` begins the message: "the weights".
[[nodiscard]] std::vector<Region> allocate(const std::shared_ptr<LogicalDevice> &device,
                                           std::span<const MemoryRequest> requests, const std::string &purpose);

// Offsets of regions that share a buffer, and what they are padded to.
[[nodiscard]] uint64_t region_align(const LogicalDevice &device);
[[nodiscard]] constexpr uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) / align * align;
}

} // namespace lamina::vulkan
