#include "vulkan/timestamps.hpp"

namespace lamina::vulkan {

bool Timestamps::available(const LogicalDevice &device) { return device.physical().timestamp_bits != 0; }

Timestamps::Timestamps(std::shared_ptr<LogicalDevice> device, size_t count)
    : device_(std::move(device)), count_(static_cast<uint32_t>(count)),
      mask_(UINT64_MAX >> (64 - device_->physical().timestamp_bits)) {
    if (count_ == 0) return;
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = count_;
    VkQueryPool pool = VK_NULL_HANDLE;
    check(device_->vk().vkCreateQueryPool(device_->handle(), &info, nullptr, &pool), "creating a query pool");
    pool_ = device_->own(pool, device_->vk().vkDestroyQueryPool);
}

void Timestamps::reset(VkCommandBuffer commands) const {
    if (count_ != 0) device_->vk().vkCmdResetQueryPool(commands, pool_.get(), 0, count_);
}

void Timestamps::write(VkCommandBuffer commands) {
    device_->vk().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_.get(), written_++);
}

std::vector<double> Timestamps::read() const {
    std::vector<uint64_t> ticks(count_);
    if (count_ != 0)
        check(device_->vk().vkGetQueryPoolResults(device_->handle(), pool_.get(), 0, count_,
                                                  ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
                                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
              "reading timestamps");
    const double period = device_->physical().limits.timestampPeriod * 1e-9;
    std::vector<double> seconds;
    // Differences first: a double does not hold all bits of a timestamp, and the counter may wrap around.
    for (const uint64_t t : ticks) seconds.push_back(static_cast<double>((t - ticks.front()) & mask_) * period);
    return seconds;
}

} // namespace lamina::vulkan
