#include "vulkan/program.hpp"

#include <algorithm>
#include <cstring>

namespace lamina::vulkan {

VulkanProgram::VulkanProgram(std::shared_ptr<LogicalDevice> device, std::shared_ptr<const Pipelines> owner,
                             Residents &residents, plan::GraphPlan plan, std::vector<plan::ChosenVariant> steps,
                             std::span<const Pipeline> pipelines, std::vector<Prepared> prepared,
                             const plan::ProgramOptions &options)
    : plan::Program(std::move(plan), options), device_(std::move(device)), pipelines_(std::move(owner)),
      steps_(std::move(steps)), memory_(device_, residents, plan_, steps_, std::move(prepared), options) {
    lay_out_staging();
    recording_.emplace(device_, Recording::Parts{plan_, steps_, pipelines, memory_, *staging_, input_transfers_,
                                                 output_transfers_, options.poisoned_with(), options.timed != nullptr});
}

void VulkanProgram::lay_out_staging() {
    uint64_t filled = 0;
    const auto place = [&](int32_t tensor, std::vector<Transfer> &transfers) {
        const uint64_t bytes = plan_.tensors[static_cast<size_t>(tensor)].type.bytes();
        transfers.push_back({filled, bytes, memory_.tensor(tensor)});
        filled += padded(bytes);
    };
    for (const auto &[name, tensor] : plan_.inputs) {
        input_tensors_.push_back(tensor);
        place(tensor, input_transfers_);
    }
    for (const auto &[name, tensor] : plan_.outputs) {
        if (this->tensor(tensor).stays) continue;
        output_tensors_.push_back(tensor);
        place(tensor, output_transfers_);
    }
    changed_.reserve(input_tensors_.size());
    staging_.emplace(device_, filled, Buffer::Place::staging);
}

void VulkanProgram::set(int32_t index, std::span<const std::byte> bytes) {
    if (tensor(index).kind == plan::PlannedTensor::Kind::state) {
        const Upload state{bytes, memory_.tensor(index)};
        return upload(device_, {&state, 1});
    }
    const auto input = static_cast<size_t>(std::ranges::find(input_tensors_, index) - input_tensors_.begin());
    std::memcpy(staging_->mapped().data() + input_transfers_[input].staged, bytes.data(), bytes.size());
    if (std::ranges::find(changed_, input) == changed_.end()) changed_.push_back(input);
}

void VulkanProgram::execute() {
    recording_->run(changed_, moves_);
    changed_.clear();
}

void VulkanProgram::execute_timed(plan::RunTimes &times) {
    execute();
    times.device_clock = recording_->has_device_clock();
    for (const TimedDispatch &t : recording_->times()) {
        const lamina_layer &layer = *plan_.steps[t.step].call.layer().contract;
        times.dispatches.push_back({t.step, layer.kernels[t.dispatch->kernel].name, t.begin, t.seconds});
    }
}

void VulkanProgram::get(int32_t index, uint64_t offset, std::span<std::byte> bytes) {
    const auto output = std::find(output_tensors_.begin(), output_tensors_.end(), index);
    if (output == output_tensors_.end()) return download(memory_.tensor(index), offset, bytes);
    const Transfer &transfer = output_transfers_[static_cast<size_t>(output - output_tensors_.begin())];
    std::memcpy(bytes.data(), staging_->mapped().data() + transfer.staged + offset, bytes.size());
}

void VulkanProgram::download(const Region &from, uint64_t offset, std::span<std::byte> to) {
    if (!downloaded_ || downloaded_->bytes() < to.size())
        downloaded_.emplace(device_, to.size(), Buffer::Place::staging);
    CommandPool pool(device_);
    pool.run_once([&](VkCommandBuffer commands) {
        place(*device_, commands, before_download);
        copy(*device_, commands, *from.buffer, from.offset + offset, *downloaded_, 0, to.size());
        place(*device_, commands, before_host);
    });
    std::memcpy(to.data(), downloaded_->mapped().data(), to.size());
}

std::string VulkanProgram::overrun() {
    std::vector<uint32_t> words;
    for (const ProgramMemory::Guard &guard : memory_.guards()) {
        words.resize(guard.region.bytes / sizeof(uint32_t));
        download(guard.region, 0, std::as_writable_bytes(std::span(words)));
        if (std::any_of(words.begin(), words.end(), [&](uint32_t w) { return w != guard.word; })) return guard.name;
    }
    return {};
}

std::string VulkanProgram::variant(size_t step) const {
    return plan_.steps.at(step).call.layer().contract->variants[steps_.at(step).variant].name;
}

} // namespace lamina::vulkan
