#include "vulkan/residents.hpp"

namespace lamina::vulkan {

namespace {

// Regions full of zeros, for requests that are allocated together.
std::vector<Region> make_zeros(const std::shared_ptr<LogicalDevice> &device, std::span<const MemoryRequest> requests,
                               const std::string &purpose) {
    std::vector<Region> regions = allocate(device, requests, purpose);
    CommandPool(device).run_once([&](VkCommandBuffer commands) {
        for (const Region &r : regions) fill(*device, commands, r, 0);
        place(*device, commands, after_upload);
    });
    return regions;
}

} // namespace

Residents::Residents(std::shared_ptr<LogicalDevice> device, model::Safetensors weights)
    : device_(std::move(device)), file_(std::move(weights)) {
    const MemoryRequest request{"zeros", 16};
    zeros_ = make_zeros(device_, {&request, 1}, "the zeros of absent ports").front();
}

void Residents::load(const std::set<std::string> &names) {
    std::vector<MemoryRequest> requests;
    std::vector<std::span<const std::byte>> data;
    for (const std::string &name : names) {
        if (weights_.contains(name)) continue;
        const auto entry = file_.entries().find(name);
        if (entry == file_.entries().end())
            throw Error(ErrorCode::input, file_.file().string() + " has no tensor '" + name + "'");
        requests.push_back({"'" + name + "'", entry->second.bytes.size()});
        data.push_back(entry->second.bytes);
    }
    if (requests.empty()) return;
    const std::vector<Region> regions = allocate(device_, requests, "the weights");
    std::vector<Upload> uploads;
    for (size_t i = 0; i < regions.size(); ++i) uploads.push_back({data[i], regions[i]});
    upload(device_, uploads);
    size_t i = 0;
    for (const std::string &name : names)
        if (!weights_.contains(name)) weights_.emplace(name, regions[i++]);
}

std::vector<Region> Residents::states(std::span<const MemoryRequest> requests) {
    std::vector<Region> out(requests.size());
    std::vector<MemoryRequest> missing;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (const auto known = states_.find({requests[i].name, requests[i].bytes}); known != states_.end())
            out[i] = {known->second.buffer.lock(), known->second.offset, known->second.bytes};
        if (out[i].buffer != nullptr) continue;
        missing.push_back(requests[i]);
        last_.erase(requests[i].name); // before there is need of memory for another
    }
    std::erase_if(states_, [](const auto &state) { return state.second.buffer.expired(); });
    std::vector<Region> made;
    if (!missing.empty()) made = make_zeros(device_, missing, "the states");
    for (size_t i = 0, next = 0; i < requests.size(); ++i) {
        if (out[i].buffer == nullptr) out[i] = made[next++];
        states_[{requests[i].name, requests[i].bytes}] = {out[i].buffer, out[i].offset, out[i].bytes};
        last_[requests[i].name] = out[i];
    }
    return out;
}

} // namespace lamina::vulkan
