// Dispatches of which, in some submissions, workgroups do not run: as on a driver whose results are now and then stale
// in places, or that runs nothing at all.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <vector>

namespace test {

// The grids of all dispatches that were recorded on a device, in memory that dispatches read when they run.
class LostWorkgroups {
  public:
    using Find = PFN_vkVoidFunction (*)(VkDevice, const char *); // a function of the driver below

    LostWorkgroups(VkDevice device, Find find);
    void destroy();

    [[nodiscard]] VkDevice device() const { return device_; }
    // False: there are too many already.
    [[nodiscard]] bool record(VkCommandBuffer commands, std::array<uint32_t, 3> grid);
    // From now on, dispatches run as they were recorded, without the last workgroups, or not at all.
    enum class Lost { none, last, all };
    void lose(Lost lost);

  private:
    template <class Function> Function function(const char *name) const {
        return reinterpret_cast<Function>(find_(device_, name));
    }

    VkDevice device_;
    Find find_;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDispatchIndirectCommand *grids_ = nullptr; // mapped
    std::vector<VkDispatchIndirectCommand> recorded_;
};

} // namespace test
