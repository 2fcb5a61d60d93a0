// An emulated AMD GPU. RADV, Mesa's driver for AMD, compiles for the chip in $RADV_FORCE_FAMILY and reports statistics
// of the kernels, but cannot run them. Releases of Mesa after 22.3 have dropped this.
#pragma once

#include "builds.hpp"
#include "vulkan/instance.hpp"

#include <memory>
#include <string>

namespace portability {

struct Statistics { // of one compiled kernel; registers are 32 bits for each invocation (vector) or subgroup (scalar)
    uint64_t vector_registers = 0;
    uint64_t spilled_vector = 0, spilled_scalar = 0; // registers that were moved to memory
    uint64_t scratch_bytes = 0;                      // of memory, for each subgroup, for spills and for indexed arrays
    uint64_t shared_bytes = 0;
    uint64_t subgroups = 0; // that fit on a SIMD unit at a time; more of them hide more memory latency

    [[nodiscard]] bool spills() const { return spilled_vector != 0 || scratch_bytes != 0; }
};

class Chip {
  public:
    // `name` is that of $RADV_FORCE_FAMILY; RADV ends the process if it does not know it. Returns null, and why, if
    // RADV is not installed or cannot compile for chips that are not installed. Sets environment variables that drivers
    // read, so a process can open only one chip, before any other use of Vulkan.
    static std::unique_ptr<Chip> open(const std::string &name, std::string &why_not);
    ~Chip();
    Chip(const Chip &) = delete;
    Chip &operator=(const Chip &) = delete;

    [[nodiscard]] const std::string &driver() const { return driver_; } // "Mesa 22.3.6"
    [[nodiscard]] const lamina_device &capabilities() const { return capabilities_; }
    // Throws Error if the driver refuses the kernel.
    [[nodiscard]] Statistics compile(const Build &build) const;

  private:
    Chip(std::shared_ptr<lamina::vulkan::VulkanInstance> instance, const lamina::vulkan::PhysicalDevice &physical);
    template <class T> using Owned = lamina::vulkan::Owned<T>;
    [[nodiscard]] Owned<VkShaderModule> make_module(const Build &build) const;
    [[nodiscard]] Owned<VkDescriptorSetLayout> make_set_layout(const Build &build) const;
    [[nodiscard]] Owned<VkPipelineLayout> make_layout(const Build &build,
                                                      const Owned<VkDescriptorSetLayout> &set) const;
    [[nodiscard]] Statistics statistics_of(VkPipeline pipeline) const;

    std::shared_ptr<lamina::vulkan::VulkanInstance> instance_;
    std::string driver_;
    lamina_device capabilities_{};
    VkDevice device_ = VK_NULL_HANDLE;
    VolkDeviceTable vk_{};
};

} // namespace portability
