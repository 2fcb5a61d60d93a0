#include "vulkan/residents.hpp"

#include "plan/memory_need.hpp"

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

std::map<std::string, Region> Residents::weights(const std::set<std::string> &names, uint64_t guard) {
    std::map<std::string, Region> out;
    std::vector<MemoryRequest> requests;
    std::vector<const model::Weight *> stored;
    std::vector<Region *> missing;
    for (const std::string &name : names) {
        Region &region = out[name];
        if (const auto known = weights_.find(name); known != weights_.end() && known->second.guard >= guard)
            region = {known->second.buffer.lock(), known->second.offset, known->second.bytes};
        if (region.buffer != nullptr) continue;
        const auto entry = file_.entries().find(name);
        if (entry == file_.entries().end())
            throw Error(ErrorCode::input, file_.file().string() + " has no tensor '" + name + "'");
        requests.push_back({"'" + name + "'", padded(entry->second.type.bytes()) + guard});
        stored.push_back(&entry->second);
        missing.push_back(&region);
    }
    if (requests.empty()) return out;
    const std::vector<Region> regions = allocate(device_, requests, "the weights");
    Uploader uploader(device_, plan::total_bytes(requests));
    for (size_t i = 0; i < regions.size(); ++i) {
        *missing[i] = {regions[i].buffer, regions[i].offset, regions[i].bytes - guard};
        uploader.add(stored[i]->once().bytes, *missing[i]);
    }
    uploader.finish();
    file_.let_go(); // pages that two weights share
    file_.expect_whole();
    for (const auto &[name, region] : out) {
        Place &place = weights_[name];
        if (place.buffer.lock() != region.buffer) place = {region.buffer, region.offset, region.bytes, guard};
    }
    return out;
}

std::vector<std::shared_ptr<Region>> Residents::states(std::span<const MemoryRequest> requests) {
    return states_.get(requests, [&](const std::vector<MemoryRequest> &missing) {
        return make_zeros(device_, missing, "the states");
    });
}

} // namespace lamina::vulkan
