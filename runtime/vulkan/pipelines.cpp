#include "vulkan/pipelines.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "vulkan/pipeline_cache.hpp"

#include <exception>
#include <utility>

namespace lamina::vulkan {

namespace {

Owned<VkPipelineCache> make_cache(const LogicalDevice &device, std::span<const std::byte> data) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = data.size();
    info.pInitialData = data.empty() ? nullptr : data.data();
    VkPipelineCache cache = VK_NULL_HANDLE;
    check(device.vk().vkCreatePipelineCache(device.handle(), &info, nullptr, &cache), "creating a pipeline cache");
    return device.own(cache, device.vk().vkDestroyPipelineCache);
}

Owned<VkShaderModule> make_module(const LogicalDevice &device, const lamina_kernel &kernel, const std::string &where) {
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = kernel.words * sizeof(uint32_t);
    info.pCode = kernel.spirv;
    VkShaderModule module = VK_NULL_HANDLE;
    const VkResult result = device.vk().vkCreateShaderModule(device.handle(), &info, nullptr, &module);
    if (result != VK_SUCCESS) fail(result, where + ": loading its SPIR-V");
    return device.own(module, device.vk().vkDestroyShaderModule);
}

// Specialization constants in Vulkan's form: 32-bit values back to back.
struct Specialization {
    std::vector<VkSpecializationMapEntry> entries;
    std::vector<uint32_t> values;

    explicit Specialization(std::span<const lamina_spec> specs) {
        for (const lamina_spec &s : specs) {
            entries.push_back({s.id, static_cast<uint32_t>(values.size() * sizeof(uint32_t)), sizeof(uint32_t)});
            values.push_back(s.bits);
        }
    }
    [[nodiscard]] VkSpecializationInfo info() const {
        return {static_cast<uint32_t>(entries.size()), entries.data(), values.size() * sizeof(uint32_t), values.data()};
    }
};

} // namespace

Pipelines::Pipelines(std::shared_ptr<LogicalDevice> device, std::optional<std::filesystem::path> cache_file)
    : device_(std::move(device)), cache_file_(std::move(cache_file)) {
    std::vector<std::byte> data;
    if (cache_file_) data = read_pipeline_cache(*cache_file_, device_->physical());
    cache_ = make_cache(*device_, data);
    saved_bytes_ = data.size();
}

Pipelines::~Pipelines() {
    try {
        if (!drivers_are_gone()) save();
    } catch (...) { // there is no memory for it
    }
}

const Pipelines::Layout &Pipelines::layout(const PipelineRequest &request) {
    const size_t bindings = request.info->bindings.size();
    const uint32_t most = device_->physical().limits.maxPerStageDescriptorStorageBuffers;
    if (bindings > most)
        throw Error(ErrorCode::no_device, request.where + " binds " + std::to_string(bindings) + " buffers; " +
                                              device_->info().name + " takes at most " + std::to_string(most));
    Layout &made = layouts_[{bindings, request.info->push_bytes}];
    if (made.pipeline.get() != VK_NULL_HANDLE) return made;

    std::vector<VkDescriptorSetLayoutBinding> list;
    for (uint32_t i = 0; i < bindings; ++i)
        list.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = static_cast<uint32_t>(list.size());
    set_info.pBindings = list.data();
    const VolkDeviceTable &vk = device_->vk();
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    check(vk.vkCreateDescriptorSetLayout(device_->handle(), &set_info, nullptr, &set), "creating a descriptor layout");
    made.set = device_->own(set, vk.vkDestroyDescriptorSetLayout);

    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, request.info->push_bytes};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = made.set.address();
    info.pushConstantRangeCount = push.size == 0 ? 0 : 1;
    info.pPushConstantRanges = &push;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
    check(vk.vkCreatePipelineLayout(device_->handle(), &info, nullptr, &pipeline), "creating a pipeline layout");
    made.pipeline = device_->own(pipeline, vk.vkDestroyPipelineLayout);
    return made;
}

Owned<VkPipeline> Pipelines::compile(const PipelineRequest &request, VkPipelineLayout layout) const {
    const Owned<VkShaderModule> module = make_module(*device_, *request.kernel, request.where);
    const Specialization specialization(request.specs);
    const VkSpecializationInfo specs = specialization.info();
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    if (device_->keeps_statistics()) info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    info.layout = layout;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.get();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specs;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result =
        device_->vk().vkCreateComputePipelines(device_->handle(), cache_.get(), 1, &info, nullptr, &pipeline);
    if (result != VK_SUCCESS) fail(result, request.where + ": building its pipeline on " + device_->info().name);
    return device_->own(pipeline, device_->vk().vkDestroyPipeline);
}

std::vector<Owned<VkPipeline>> Pipelines::compile_all(const Wanted &wanted,
                                                      std::span<const VkPipelineLayout> layouts) const {
    std::vector<const PipelineRequest *> requests;
    for (const auto &[key, request] : wanted) requests.push_back(request);
    std::vector<Owned<VkPipeline>> made(requests.size());
    in_parallel(requests.size(), cores(), [&](size_t i, size_t) { made[i] = compile(*requests[i], layouts[i]); });
    return made;
}

bool Pipelines::build_missing(const Wanted &wanted, std::unique_lock<std::mutex> &lock) {
    Wanted missing, own;
    std::vector<VkPipelineLayout> layouts;
    for (const auto &[key, request] : wanted) {
        if (pipelines_.contains(key)) continue;
        missing.emplace(key, request);
        if (building_.contains(key)) continue;
        own.emplace(key, request);
        layouts.push_back(layout(*request).pipeline.get());
    }
    if (missing.empty()) return true;
    if (own.empty()) {
        built_.wait(lock);
        return false;
    }
    for (const auto &[key, request] : own) building_.insert(key);
    lock.unlock();
    std::vector<Owned<VkPipeline>> made;
    std::exception_ptr failure;
    try {
        made = compile_all(own, layouts);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    size_t i = 0;
    for (const auto &[key, request] : own) {
        building_.erase(key);
        if (!failure) pipelines_.emplace(key, std::move(made[i++]));
    }
    built_.notify_all();
    if (failure) std::rethrow_exception(failure);
    // All of it is written each time, megabytes on some drivers.
    constexpr std::chrono::seconds pause{1};
    if (std::chrono::steady_clock::now() - saved_ > pause) save();
    watch_for_exit();
    return own.size() == missing.size();
}

std::vector<Pipeline> Pipelines::build(std::span<const PipelineRequest> requests) {
    std::vector<Key> keys;
    Wanted wanted;
    for (const PipelineRequest &r : requests) {
        Key key{{reinterpret_cast<const char *>(r.kernel->spirv), r.kernel->words * sizeof(uint32_t)}, {}};
        for (const lamina_spec &s : r.specs) key.second.insert(key.second.end(), {s.id, s.bits});
        wanted.emplace(key, &r);
        keys.push_back(std::move(key));
    }
    std::unique_lock lock(mutex_);
    while (!build_missing(wanted, lock)) {
    }
    std::vector<Pipeline> result;
    for (size_t r = 0; r < requests.size(); ++r) {
        const Layout &l = layout(requests[r]);
        result.push_back({pipelines_.at(keys[r]).get(), l.pipeline.get(), l.set.get()});
    }
    return result;
}

// A cache that cannot be written only costs time at the next start, so it is not an error.
void Pipelines::save() {
    if (!cache_file_) return;
    saved_ = std::chrono::steady_clock::now();
    const VolkDeviceTable &vk = device_->vk();
    size_t bytes = 0;
    if (vk.vkGetPipelineCacheData(device_->handle(), cache_.get(), &bytes, nullptr) != VK_SUCCESS) return;
    if (bytes == saved_bytes_) return; // nothing new: the pipelines came from the file, or the driver keeps its own
    std::vector<std::byte> data(bytes);
    if (vk.vkGetPipelineCacheData(device_->handle(), cache_.get(), &bytes, data.data()) != VK_SUCCESS) return;
    data.resize(bytes);
    if (write_pipeline_cache(*cache_file_, data)) saved_bytes_ = bytes;
}

} // namespace lamina::vulkan
