// Moves sequences within the states of a program, as beam search keeps, drops and splits beams, and between programs.
#include "vulkan/program.hpp"

namespace lamina::vulkan {
namespace {

// Kernels and copies wrote the states before; kernels read them after.
constexpr Barrier before_copy{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                              VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr Barrier after_copy{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                             VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};

} // namespace

void VulkanProgram::copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) {
    const auto &other = dynamic_cast<VulkanProgram &>(from);
    CommandPool pool(device_);
    pool.run_once([&](VkCommandBuffer commands) {
        place(*device_, commands, before_copy);
        for (const plan::StateCopy &each : copies) {
            const Region &from_state = other.memory_.tensor(each.from.tensor), &state = memory_.tensor(each.to.tensor);
            for (uint64_t block = 0; block < each.blocks; ++block)
                copy(*device_, commands, *from_state.buffer,
                     from_state.offset + each.from.offset + block * each.from.stride, *state.buffer,
                     state.offset + each.to.offset + block * each.to.stride, each.bytes);
        }
        place(*device_, commands, after_copy);
    });
}

} // namespace lamina::vulkan
