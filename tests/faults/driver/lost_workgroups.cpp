#include "lost_workgroups.hpp"

namespace test {
namespace {

constexpr uint32_t most_dispatches = 1u << 16;
constexpr VkDeviceSize grid_bytes = sizeof(VkDispatchIndirectCommand);

VkDispatchIndirectCommand without_last(VkDispatchIndirectCommand grid) {
    uint32_t &longest = grid.y > 1 ? grid.y : grid.x;
    --longest;
    return grid;
}

} // namespace

// Lavapipe has one memory type, which the host reaches.
LostWorkgroups::LostWorkgroups(VkDevice device, Find find) : device_(device), find_(find) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = most_dispatches * grid_bytes;
    info.usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    function<PFN_vkCreateBuffer>("vkCreateBuffer")(device_, &info, nullptr, &buffer_);
    VkMemoryRequirements needs{};
    function<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device_, buffer_, &needs);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    function<PFN_vkAllocateMemory>("vkAllocateMemory")(device_, &allocation, nullptr, &memory_);
    function<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device_, buffer_, memory_, 0);
    void *mapped = nullptr;
    function<PFN_vkMapMemory>("vkMapMemory")(device_, memory_, 0, VK_WHOLE_SIZE, 0, &mapped);
    grids_ = static_cast<VkDispatchIndirectCommand *>(mapped);
}

void LostWorkgroups::destroy() {
    function<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device_, buffer_, nullptr);
    function<PFN_vkFreeMemory>("vkFreeMemory")(device_, memory_, nullptr);
}

bool LostWorkgroups::record(VkCommandBuffer commands, std::array<uint32_t, 3> grid) {
    if (recorded_.size() == most_dispatches) return false;
    grids_[recorded_.size()] = {grid[0], grid[1], grid[2]};
    function<PFN_vkCmdDispatchIndirect>("vkCmdDispatchIndirect")(commands, buffer_, recorded_.size() * grid_bytes);
    recorded_.push_back({grid[0], grid[1], grid[2]});
    return true;
}

void LostWorkgroups::lose(Lost lost) {
    for (size_t i = 0; i < recorded_.size(); ++i)
        grids_[i] = lost == Lost::none   ? recorded_[i]
                    : lost == Lost::last ? without_last(recorded_[i])
                                         : VkDispatchIndirectCommand{};
}

} // namespace test
