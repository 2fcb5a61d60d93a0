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

// Each move is recorded once, as long as there are not too many, and submitted with the run.
void VulkanProgram::move(std::span<const plan::SequenceCopy> moves) {
    constexpr size_t most = 4096; // of which a driver keeps some KiB each
    moves_.clear();
    if (recorded_moves_.size() + moves.size() > most) {
        recorded_moves_.clear();
        move_commands_.reset(); // no run uses them now
    }
    if (!moves.empty() && !move_commands_) move_commands_.emplace(device_);
    for (const plan::SequenceCopy &each : moves) {
        const std::pair key{each.from, each.to};
        auto known = recorded_moves_.find(key);
        if (known == recorded_moves_.end()) {
            const auto record = [&](VkCommandBuffer commands) { record_copies(commands, *this, copies_of(each)); };
            known = recorded_moves_.emplace(key, move_commands_->record(record)).first;
        }
        moves_.push_back(known->second);
    }
}

void VulkanProgram::copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) {
    CommandPool pool(device_);
    pool.run_once(
        [&](VkCommandBuffer commands) { record_copies(commands, dynamic_cast<VulkanProgram &>(from), copies); });
}

void VulkanProgram::record_copies(VkCommandBuffer commands, VulkanProgram &from,
                                  std::span<const plan::StateCopy> copies) {
    place(*device_, commands, before_copy);
    for (const plan::StateCopy &each : copies) {
        const Region &theirs = from.memory_.tensor(each.from.tensor), &mine = memory_.tensor(each.to.tensor);
        for (uint64_t block = 0; block < each.blocks; ++block)
            copy(*device_, commands, *theirs.buffer, theirs.offset + each.from.offset + block * each.from.stride,
                 *mine.buffer, mine.offset + each.to.offset + block * each.to.stride, each.bytes);
    }
    place(*device_, commands, after_copy);
}

} // namespace lamina::vulkan
