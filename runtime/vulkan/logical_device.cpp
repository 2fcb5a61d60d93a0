#include "vulkan/logical_device.hpp"

#include <vector>

namespace lamina::vulkan {

namespace {

// The structures for the feature bits, chained for vkCreateDevice. They point to each other, so they must not be
// copied.
struct EnabledFeatures {
    VkPhysicalDeviceFeatures2 all{};
    VkPhysicalDevice16BitStorageFeatures storage{};
    VkPhysicalDeviceShaderFloat16Int8Features half{};
#ifdef VK_KHR_cooperative_matrix
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
    VkPhysicalDeviceVulkanMemoryModelFeatures model{};
#endif
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics{};

    EnabledFeatures(uint64_t features, uint32_t api_version, bool with_statistics,
                    std::vector<const char *> &extensions) {
        all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        all.features.shaderInt64 = (features & LAMINA_FEATURE_INT64) != 0 ? VK_TRUE : VK_FALSE;
        storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
        storage.storageBuffer16BitAccess = (features & LAMINA_FEATURE_STORAGE16) != 0 ? VK_TRUE : VK_FALSE;
        chain(storage);
        if ((features & LAMINA_FEATURE_FLOAT16) != 0) {
            half.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
            half.shaderFloat16 = VK_TRUE;
            chain(half);
            if (api_version < VK_API_VERSION_1_2) extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
        }
#ifdef VK_KHR_cooperative_matrix
        if ((features & LAMINA_FEATURE_COOPERATIVE_MATRIX) != 0) {
            matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
            matrix.cooperativeMatrix = VK_TRUE;
            chain(matrix);
            model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
            model.vulkanMemoryModel = VK_TRUE;
            chain(model);
            extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
        }
#endif
        if (with_statistics) {
            statistics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
            statistics.pipelineExecutableInfo = VK_TRUE;
            chain(statistics);
            extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
        }
    }
    EnabledFeatures(const EnabledFeatures &) = delete;

  private:
    template <class Structure> void chain(Structure &s) {
        s.pNext = all.pNext;
        all.pNext = &s;
    }
};

} // namespace

LogicalDevice::LogicalDevice(std::shared_ptr<VulkanInstance> instance, const PhysicalDevice &physical, For use)
    : instance_(std::move(instance)), physical_(physical),
      keeps_statistics_(use == For::compiling &&
                        physical.offers(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) {
    std::vector<const char *> extensions;
    const EnabledFeatures features(physical_.info.capabilities.features, physical_.api_version, keeps_statistics_,
                                   extensions);
    reports_budget_ = physical_.offers(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (reports_budget_) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    // A device that offers this (MoltenVK) may only be opened with it.
    if (physical_.offers("VK_KHR_portability_subset")) extensions.push_back("VK_KHR_portability_subset");

    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = physical_.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features.all;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const VkResult result = vkCreateDevice(physical_.handle, &info, nullptr, &device_);
    if (result != VK_SUCCESS)
        throw Error(ErrorCode::no_device, "vulkan:" + std::to_string(physical_.info.index) + " (" +
                                              physical_.info.name + ") could not be opened: the driver returned " +
                                              name_of(result));
    volkLoadDeviceTable(&table_, device_);
    table_.vkGetDeviceQueue(device_, physical_.queue_family, 0, &queue_);
}

// The device is idle here, because whoever submits work waits for it.
LogicalDevice::~LogicalDevice() {
    if (!drivers_are_gone()) table_.vkDestroyDevice(device_, nullptr);
}

void LogicalDevice::submit(std::span<const VkCommandBuffer> commands, VkFence fence, const std::string &what) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = static_cast<uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    VkResult result;
    {
        const std::lock_guard lock(queue_mutex_);
        result = table_.vkQueueSubmit(queue_, 1, &info, fence);
    }
    if (result == VK_SUCCESS) return;
    wait_idle(); // earlier submissions may still run, and on a lost device even this one counts as pending
    fail(result, "submitting " + what + " to device " + physical_.info.name);
}

// The result is not needed: whoever waits here already knows that the device is lost.
void LogicalDevice::wait_idle() {
    const std::lock_guard lock(queue_mutex_);
    table_.vkQueueWaitIdle(queue_);
}

VkResult LogicalDevice::hear_validation() {
    if (!instance_->is_validated()) return VK_SUCCESS;
    const std::lock_guard lock(queue_mutex_);
    return table_.vkQueueWaitIdle(queue_);
}

uint64_t LogicalDevice::free_bytes(uint32_t heap) const {
    if (!reports_budget_) return physical_.memory.memoryHeaps[heap].size;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    memory.pNext = &budget;
    vkGetPhysicalDeviceMemoryProperties2(physical_.handle, &memory);
    return budget.heapBudget[heap] > budget.heapUsage[heap] ? budget.heapBudget[heap] - budget.heapUsage[heap] : 0;
}

} // namespace lamina::vulkan
