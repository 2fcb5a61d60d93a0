#include "vulkan/residents.hpp"

namespace lamina::vulkan {

namespace {

Region make_zeros(const std::shared_ptr<LogicalDevice> &device, const std::string &name, uint64_t bytes) {
    const MemoryRequest request{name, bytes};
    const Region region = allocate(device, {&request, 1}, name).front();
    const Upload nothing{{}, region}; // the padding of an upload is zeros
    upload(device, {&nothing, 1});
    return region;
}

} // namespace

Residents::Residents(std::shared_ptr<LogicalDevice> device, model::Safetensors weights)
    : device_(std::move(device)), file_(std::move(weights)), zeros_(make_zeros(device_, "zeros", 16)) {}

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

Region Residents::state(const std::string &name, uint64_t bytes) {
    Region &region = states_[name];
    if (region.bytes != padded(bytes)) region = make_zeros(device_, "state '" + name + "'", bytes);
    return region;
}

} // namespace lamina::vulkan
