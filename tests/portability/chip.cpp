#include "chip.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>

namespace portability {
namespace {

using namespace lamina;
using vulkan::check;
using vulkan::Owned;

constexpr const char *statistics_extension = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;

// RADV's manifest, which tells Vulkan's loader where the driver is; empty if it is not installed.
std::filesystem::path manifest() {
    for (const std::filesystem::path folder :
         {"/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"}) {
        std::error_code error;
        for (const auto &entry : std::filesystem::directory_iterator(folder, error))
            if (entry.path().filename().string().starts_with("radeon_icd")) return entry.path();
    }
    return {};
}

VkDevice open_device(const vulkan::PhysicalDevice &physical) {
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics{};
    statistics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    VkPhysicalDeviceVulkan12Features features12{};
    features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features12.pNext = &statistics;
    VkPhysicalDeviceVulkan11Features features11{};
    features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    features11.pNext = &features12;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &features11;
    vkGetPhysicalDeviceFeatures2(physical.handle, &features);
    features.features.robustBufferAccess = VK_FALSE; // it would change the code; the runtime does not use it either

    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = physical.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &statistics_extension;
    VkDevice device = VK_NULL_HANDLE;
    check(vkCreateDevice(physical.handle, &info, nullptr, &device), "opening a chip that is not there");
    return device;
}

} // namespace

std::unique_ptr<Chip> Chip::open(const std::string &name, std::string &why_not) {
    const std::filesystem::path radv = manifest();
    if (radv.empty()) {
        why_not = "RADV is not installed (Debian: apt install mesa-vulkan-drivers)";
        return nullptr;
    }
    setenv("RADV_FORCE_FAMILY", name.c_str(), 1);
    setenv("VK_DRIVER_FILES", radv.c_str(), 1);
    setenv("VK_ICD_FILENAMES", radv.c_str(), 1);    // the name in loaders before 1.3.207
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); // kernels from the cache have no statistics
    auto instance = vulkan::VulkanInstance::create({}, nullptr, why_not);
    if (instance == nullptr) {
        why_not += "; or this RADV needs the chip: Mesa 22.3's does not";
        return nullptr;
    }
    for (const vulkan::PhysicalDevice &physical : instance->physical_devices())
        if (physical.info.name.starts_with("Null hardware") && physical.offers(statistics_extension))
            return std::unique_ptr<Chip>(new Chip(instance, physical));
    why_not = "this RADV needs the chip: Mesa 22.3's does not";
    return nullptr;
}

Chip::Chip(std::shared_ptr<vulkan::VulkanInstance> instance, const vulkan::PhysicalDevice &physical)
    : instance_(std::move(instance)), driver_(physical.info.driver_version), capabilities_(physical.info.capabilities),
      device_(open_device(physical)) {
    capabilities_.max_binding_bytes = physical.limits.maxStorageBufferRange; // there is no memory that limits it
    volkLoadDeviceTable(&vk_, device_);
}

Chip::~Chip() { vk_.vkDestroyDevice(device_, nullptr); }

Statistics Chip::compile(const Build &build) const {
    const Owned<VkShaderModule> module = make_module(build);
    const Owned<VkDescriptorSetLayout> set = make_set_layout(build);
    const Owned<VkPipelineLayout> layout = make_layout(build, set);
    std::vector<VkSpecializationMapEntry> entries;
    std::vector<uint32_t> values;
    for (const lamina_spec &s : build.specs) {
        entries.push_back({s.id, static_cast<uint32_t>(values.size() * sizeof(uint32_t)), sizeof(uint32_t)});
        values.push_back(s.bits);
    }
    const VkSpecializationInfo specs{static_cast<uint32_t>(entries.size()), entries.data(),
                                     values.size() * sizeof(uint32_t), values.data()};
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    info.layout = layout.get();
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.get();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specs;
    VkPipeline handle = VK_NULL_HANDLE;
    const VkResult result = vk_.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &handle);
    if (result != VK_SUCCESS) vulkan::fail(result, "compiling " + build.text());
    const Owned<VkPipeline> pipeline(device_, handle, vk_.vkDestroyPipeline);
    return statistics_of(handle);
}

Owned<VkShaderModule> Chip::make_module(const Build &build) const {
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = build.code().words * sizeof(uint32_t);
    info.pCode = build.code().spirv;
    VkShaderModule module = VK_NULL_HANDLE;
    check(vk_.vkCreateShaderModule(device_, &info, nullptr, &module), "loading SPIR-V");
    return {device_, module, vk_.vkDestroyShaderModule};
}

Owned<VkDescriptorSetLayout> Chip::make_set_layout(const Build &build) const {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const plan::KernelBinding &b : build.info().bindings)
        bindings.push_back({b.binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    check(vk_.vkCreateDescriptorSetLayout(device_, &info, nullptr, &set), "creating a descriptor layout");
    return {device_, set, vk_.vkDestroyDescriptorSetLayout};
}

Owned<VkPipelineLayout> Chip::make_layout(const Build &build, const Owned<VkDescriptorSetLayout> &set) const {
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, build.info().push_bytes};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = set.address();
    info.pushConstantRangeCount = push.size == 0 ? 0 : 1;
    info.pPushConstantRanges = &push;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    check(vk_.vkCreatePipelineLayout(device_, &info, nullptr, &layout), "creating a pipeline layout");
    return {device_, layout, vk_.vkDestroyPipelineLayout};
}

Statistics Chip::statistics_of(VkPipeline pipeline) const {
    VkPipelineExecutableInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
    info.pipeline = pipeline; // a compute pipeline is one executable: number 0
    uint32_t n = 0;
    check(vk_.vkGetPipelineExecutableStatisticsKHR(device_, &info, &n, nullptr), "counting statistics");
    VkPipelineExecutableStatisticKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    std::vector<VkPipelineExecutableStatisticKHR> list(n, empty);
    check(vk_.vkGetPipelineExecutableStatisticsKHR(device_, &info, &n, list.data()), "reading statistics");
    std::map<std::string, uint64_t> by_name;
    for (const VkPipelineExecutableStatisticKHR &s : list) by_name[s.name] = s.value.u64;
    const auto value = [&](const char *name) {
        const auto found = by_name.find(name);
        if (found == by_name.end())
            throw Error(ErrorCode::failure, driver_ + " gives no statistic '" + name + "' of a pipeline");
        return found->second;
    };
    return {.vector_registers = value("VGPRs"),
            .spilled_vector = value("Spilled VGPRs"),
            .spilled_scalar = value("Spilled SGPRs"),
            .scratch_bytes = value("Scratch size"),
            .shared_bytes = value("LDS size"),
            .subgroups = value("Subgroups per SIMD")};
}

} // namespace portability
