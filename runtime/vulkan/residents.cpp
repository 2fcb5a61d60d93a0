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

Residents::Residents(std::shared_ptr<LogicalDevice> device, model::Weights weights)
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

std::vector<std::shared_ptr<Region>> Residents::states(std::span<const MemoryRequest> requests) {
    return states_.get(requests, [&](const std::vector<MemoryRequest> &missing) {
        return make_zeros(device_, missing, "the states");
    });
}

} // namespace lamina::vulkan
