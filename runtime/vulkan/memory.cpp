#include "vulkan/memory.hpp"

#include "base/binary_size.hpp"
#include "plan/memory_need.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace lamina::vulkan {

namespace {

constexpr uint64_t block_bytes = 256ull << 20;

struct MemoryType {
    uint32_t index, heap;
};

// The memory type with all of `needed` that has the largest heap. A small device-local heap is only a window through
// which the host sees a discrete GPU's memory; weights do not belong there.
std::optional<MemoryType> find_type(const VkPhysicalDeviceMemoryProperties &memory, uint32_t allowed,
                                    VkMemoryPropertyFlags needed) {
    std::optional<MemoryType> best;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const VkMemoryType &type = memory.memoryTypes[i];
        if ((allowed & (1u << i)) == 0 || (type.propertyFlags & needed) != needed) continue;
        if (!best || memory.memoryHeaps[type.heapIndex].size > memory.memoryHeaps[best->heap].size)
            best = MemoryType{i, type.heapIndex};
    }
    return best;
}

constexpr VkMemoryPropertyFlags mappable = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// Where the device and the host share memory, one copy of the weights is enough: the host writes it in place.
std::optional<MemoryType> find_device_type(const PhysicalDevice &device, uint32_t allowed) {
    const auto fastest = find_type(device.memory, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (!device.shares_memory()) return fastest;
    const auto shared = find_type(device.memory, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | mappable);
    return shared && shared->heap == fastest->heap ? shared : fastest;
}

// Vulkan guarantees a type with DEVICE_LOCAL and one with HOST_VISIBLE and HOST_COHERENT for every buffer.
MemoryType choose_type(const PhysicalDevice &device, uint32_t allowed, Buffer::Place place) {
    auto type = place == Buffer::Place::device
                    ? find_device_type(device, allowed)
                    : find_type(device.memory, allowed, mappable | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    if (!type) type = find_type(device.memory, allowed, place == Buffer::Place::device ? 0 : mappable);
    if (!type) throw Error(ErrorCode::memory, "the device has no memory type for a storage buffer");
    return *type;
}

bool is_mappable(const PhysicalDevice &device, const MemoryType &type) {
    return (device.memory.memoryTypes[type.index].propertyFlags & mappable) == mappable;
}

VkBufferCreateInfo buffer_info(uint64_t bytes) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    return info;
}

[[noreturn]] void too_large(const LogicalDevice &device, std::span<const MemoryRequest> requests,
                            const std::string &purpose, const std::string &have) {
    throw Error(ErrorCode::memory, purpose + " need " + binary_size(plan::total_bytes(requests)) + " on " +
                                       device.info().name + "; " + have + ". Biggest: " + plan::biggest(requests) +
                                       ". Use smaller batches, smaller weights (f16, q8_0) or another device.");
}

void check_fit(const LogicalDevice &device, std::span<const MemoryRequest> requests, const std::string &purpose) {
    const uint64_t most = device.physical().max_allocation_bytes;
    for (const MemoryRequest &r : requests)
        if (r.bytes > most - 16)
            too_large(device, requests, purpose, "one allocation there holds at most " + binary_size(most));
    const MemoryType type = choose_type(device.physical(), UINT32_MAX, Buffer::Place::device);
    const uint64_t have = device.free_bytes(type.heap);
    if (plan::total_bytes(requests) > have) too_large(device, requests, purpose, binary_size(have) + " are free");
}

} // namespace

Buffer::Buffer(std::shared_ptr<LogicalDevice> device, uint64_t bytes, Place place)
    : device_(std::move(device)), bytes_(padded(bytes)) {
    const VolkDeviceTable &vk = device_->vk();
    const VkBufferCreateInfo info = buffer_info(bytes_);
    VkBuffer buffer = VK_NULL_HANDLE;
    check(vk.vkCreateBuffer(device_->handle(), &info, nullptr, &buffer), "creating a buffer");
    buffer_ = device_->own(buffer, vk.vkDestroyBuffer);

    VkMemoryRequirements needs{};
    vk.vkGetBufferMemoryRequirements(device_->handle(), buffer, &needs);
    const MemoryType type = choose_type(device_->physical(), needs.memoryTypeBits, place);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = type.index;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    const VkResult result = vk.vkAllocateMemory(device_->handle(), &allocation, nullptr, &memory);
    if (result != VK_SUCCESS)
        throw Error(ErrorCode::memory, "a block of " + binary_size(needs.size) + " could not be allocated on " +
                                           device_->info().name + " (" + name_of(result) + "); " +
                                           binary_size(device_->free_bytes(type.heap)) + " are free there");
    memory_ = device_->own(memory, vk.vkFreeMemory);
    check(vk.vkBindBufferMemory(device_->handle(), buffer, memory, 0), "binding a buffer to its memory");
    const PhysicalDevice &physical = device_->physical();
    if (place == Place::staging || (physical.shares_memory() && is_mappable(physical, type))) {
        void *data = nullptr;
        check(vk.vkMapMemory(device_->handle(), memory, 0, VK_WHOLE_SIZE, 0, &data), "mapping a buffer");
        mapped_ = static_cast<std::byte *>(data);
    }
}

Buffer::~Buffer() = default;

uint64_t free_bytes(const LogicalDevice &device) {
    return device.free_bytes(choose_type(device.physical(), UINT32_MAX, Buffer::Place::device).heap);
}

uint64_t region_align(const LogicalDevice &device) {
    return std::max<uint64_t>(256, device.info().capabilities.binding_align);
}

std::vector<Region> allocate(const std::shared_ptr<LogicalDevice> &device, std::span<const MemoryRequest> requests,
                             const std::string &purpose) {
    check_fit(*device, requests, purpose);
    const uint64_t align = region_align(*device);
    std::vector<Region> regions(requests.size());
    std::vector<size_t> block; // requests in the block that is being filled
    uint64_t filled = 0;
    const auto close = [&] {
        if (block.empty()) return;
        try {
            const auto buffer = std::make_shared<const Buffer>(device, filled, Buffer::Place::device);
            for (const size_t i : block) regions[i].buffer = buffer;
        } catch (const Error &e) {
            too_large(*device, requests, purpose, e.what());
        }
        block.clear();
        filled = 0;
    };
    const uint64_t most = std::min(block_bytes, device->physical().max_allocation_bytes);
    for (size_t i = 0; i < requests.size(); ++i) {
        const uint64_t bytes = padded(requests[i].bytes);
        if (align_up(filled, align) + bytes > most) close();
        regions[i].offset = align_up(filled, align);
        regions[i].bytes = bytes;
        filled = regions[i].offset + bytes;
        block.push_back(i);
    }
    close();
    return regions;
}

} // namespace lamina::vulkan
