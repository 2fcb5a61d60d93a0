// Moves sequences within the states of a program, as beam search keeps, drops and splits beams, and between programs.
#include "vulkan/program.hpp"

namespace lamina::vulkan {
namespace {

// Kernels wrote the states before; kernels read them after.
constexpr Barrier after_copy{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                             VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
constexpr Barrier between_copies{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};

struct Move { // of a sequence, through a temporary copy, because other moves may need the data that it replaces
    Region state;
    uint64_t from, beside, to, bytes;
};

} // namespace

void VulkanProgram::reorder(std::span<const int32_t> rows) {
    std::vector<Move> moves;
    uint64_t beside = 0;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
        const plan::PlannedTensor &tensor = plan_.tensors[i];
        if (tensor.kind != plan::PlannedTensor::Kind::state) continue;
        const Region &state = memory_.tensor(static_cast<int32_t>(i));
        const uint64_t bytes = tensor.type.bytes() / rows.size();
        for (size_t b = 0; b < rows.size(); ++b) {
            if (rows[b] == static_cast<int32_t>(b)) continue;
            moves.push_back({state, static_cast<uint64_t>(rows[b]) * bytes, beside, b * bytes, bytes});
            beside += padded(bytes);
        }
    }
    if (moves.empty()) return;
    if (!beside_ || beside_->bytes() < beside) beside_.emplace(device_, beside, Buffer::Place::device);
    CommandPool pool(device_);
    pool.run_once([&](VkCommandBuffer commands) {
        place(*device_, commands, before_download);
        for (const Move &m : moves)
            copy(*device_, commands, *m.state.buffer, m.state.offset + m.from, *beside_, m.beside, m.bytes);
        place(*device_, commands, between_copies);
        for (const Move &m : moves)
            copy(*device_, commands, *beside_, m.beside, *m.state.buffer, m.state.offset + m.to, m.bytes);
        place(*device_, commands, after_copy);
    });
}

void VulkanProgram::copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) {
    const auto &other = dynamic_cast<VulkanProgram &>(from);
    CommandPool pool(device_);
    pool.run_once([&](VkCommandBuffer commands) {
        place(*device_, commands, before_download);
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
