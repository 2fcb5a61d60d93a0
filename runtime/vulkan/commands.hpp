// Records command buffers, and waits for them with a timeout.
#pragma once

#include "vulkan/memory.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// A pool and the command buffers that it owns. One thread at a time.
class CommandPool {
  public:
    explicit CommandPool(std::shared_ptr<LogicalDevice> device);

    // A command buffer filled by `record`. It may be submitted repeatedly, one submission at a time.
    [[nodiscard]] VkCommandBuffer record(const std::function<void(VkCommandBuffer)> &record);
    // Records, submits, waits and forgets. `what` describes it in messages: "a copy".
    void run_once(const std::string &what, const std::function<void(VkCommandBuffer)> &record);
    template <class Record> void run_once(const Record &record) {
        run_once("a copy", std::cref(record)); // a copy of what it captures would be an allocation
    }

  private:
    std::shared_ptr<LogicalDevice> device_;
    Owned<VkCommandPool> pool_;
};

class Fence {
  public:
    explicit Fence(std::shared_ptr<LogicalDevice> device);
    [[nodiscard]] VkFence handle() const { return fence_.get(); }
    void reset();
    // Waits in slices. Throws Error(device_lost) if the device is lost or does not answer for ten minutes. `what` says
    // what was running: "steps 'a' to 'b' of graph 'encode'".
    void wait(const std::string &what) const;

  private:
    std::shared_ptr<LogicalDevice> device_;
    Owned<VkFence> fence_;
};

// A barrier: what `from` stages write with `written` access is visible to `to` stages with `used` access.
struct Barrier {
    VkPipelineStageFlags from, to;
    VkAccessFlags written, used;
};
inline constexpr Barrier between_dispatches{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                            VK_ACCESS_SHADER_WRITE_BIT,
                                            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
inline constexpr Barrier after_upload{
    VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
    VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT};
inline constexpr Barrier before_download{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                         VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT};
inline constexpr Barrier before_host{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                                     VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};

void place(const LogicalDevice &device, VkCommandBuffer commands, const Barrier &barrier);
void copy(const LogicalDevice &device, VkCommandBuffer commands, const Buffer &from, uint64_t from_offset,
          const Buffer &to, uint64_t to_offset, uint64_t bytes);
// Fills whole words; offset and bytes are multiples of four.
void fill(const LogicalDevice &device, VkCommandBuffer commands, const Region &region, uint32_t word);

// Copies data to regions and pads it with zeros: in place where the host reaches them, else through a staging buffer of
// bounded size. Nothing may be running that uses the regions.
class Uploader {
  public:
    // For regions of `total` bytes.
    Uploader(std::shared_ptr<LogicalDevice> device, uint64_t total);

    // The data may go afterwards, but it arrives with finish(). What of it is mapped from a file leaves memory.
    void add(std::span<const std::byte> data, const Region &to); // at least as large
    void finish();

  private:
    struct Piece { // in the staging buffer
        Region to;
        uint64_t staged;
    };

    std::shared_ptr<LogicalDevice> device_;
    uint64_t total_, filled_ = 0; // bytes
    std::optional<Buffer> staging_;
    std::vector<Piece> pieces_;
};

struct Upload {
    std::span<const std::byte> data;
    Region to; // at least as large
};
void upload(const std::shared_ptr<LogicalDevice> &device, std::span<const Upload> uploads);

} // namespace lamina::vulkan
