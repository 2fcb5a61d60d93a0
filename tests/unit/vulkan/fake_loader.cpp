#include "fake_loader.hpp"

#include <algorithm>
#include <cstring>

namespace test {

FakeDevice::FakeDevice() {
    properties.apiVersion = VK_API_VERSION_1_3;
    properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    std::strcpy(properties.deviceName, "Fake GPU");
    VkPhysicalDeviceLimits &limits = properties.limits;
    limits.maxComputeWorkGroupInvocations = 256;
    limits.maxComputeWorkGroupSize[0] = limits.maxComputeWorkGroupSize[1] = limits.maxComputeWorkGroupSize[2] = 256;
    limits.maxComputeSharedMemorySize = 16384;
    limits.maxPushConstantsSize = 128;
    limits.maxPerStageDescriptorStorageBuffers = 8;
    limits.maxStorageBufferRange = 1u << 27;
    limits.minStorageBufferOffsetAlignment = 64;
    subgroup.subgroupSize = 32;
}

FakeLoader &fake_loader() {
    static FakeLoader loader;
    return loader;
}

namespace {

FakeDevice &device_of(VkPhysicalDevice handle) { return *reinterpret_cast<FakeDevice *>(handle); }

// Vulkan's two-call listing: the first call returns the count, the second as many items as fit.
template <class T> VkResult list(const std::vector<T> &all, uint32_t *n, T *out) {
    if (out != nullptr) std::copy_n(all.begin(), std::min<size_t>(*n, all.size()), out);
    *n = static_cast<uint32_t>(all.size());
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_version(uint32_t *version) {
    *version = fake_loader().api_version;
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL instance_extensions(const char *, uint32_t *n, VkExtensionProperties *out) {
    return list<VkExtensionProperties>({}, n, out);
}
VKAPI_ATTR VkResult VKAPI_CALL instance_layers(uint32_t *n, VkLayerProperties *out) {
    std::vector<VkLayerProperties> layers;
    if (fake_loader().has_validation_layer)
        layers.push_back({"VK_LAYER_KHRONOS_validation", VK_API_VERSION_1_3, 1, ""});
    return list(layers, n, out);
}
VKAPI_ATTR VkResult VKAPI_CALL create_messenger(VkInstance, const VkDebugUtilsMessengerCreateInfoEXT *info,
                                                const VkAllocationCallbacks *, VkDebugUtilsMessengerEXT *out) {
    fake_loader().messenger = *info;
    *out = reinterpret_cast<VkDebugUtilsMessengerEXT>(&fake_loader());
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_messenger(VkInstance, VkDebugUtilsMessengerEXT, const VkAllocationCallbacks *) {}
VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *, const VkAllocationCallbacks *,
                                               VkInstance *out) {
    *out = reinterpret_cast<VkInstance>(&fake_loader());
    return fake_loader().create_instance;
}
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance, const VkAllocationCallbacks *) {}
VKAPI_ATTR VkResult VKAPI_CALL physical_devices(VkInstance, uint32_t *n, VkPhysicalDevice *out) {
    std::vector<VkPhysicalDevice> handles;
    for (FakeDevice &d : fake_loader().devices) handles.push_back(reinterpret_cast<VkPhysicalDevice>(&d));
    return list(handles, n, out);
}
VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties *out) {
    *out = device_of(handle).properties;
}
VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice handle, VkPhysicalDeviceProperties2 *out) {
    const FakeDevice &d = device_of(handle);
    out->properties = d.properties;
    for (auto *next = static_cast<VkBaseOutStructure *>(out->pNext); next != nullptr; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
            auto &subgroup = *reinterpret_cast<VkPhysicalDeviceSubgroupProperties *>(next);
            subgroup.subgroupSize = d.subgroup.subgroupSize;
            subgroup.supportedStages = d.subgroup.supportedStages;
            subgroup.supportedOperations = d.subgroup.supportedOperations;
        } else if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES) {
            reinterpret_cast<VkPhysicalDeviceMaintenance3Properties *>(next)->maxMemoryAllocationSize = 1u << 30;
        } else if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES) {
            std::strcpy(reinterpret_cast<VkPhysicalDeviceDriverProperties *>(next)->driverName, "fake");
        }
    }
}
VKAPI_ATTR void VKAPI_CALL features2(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2 *out) {
    const FakeDevice &d = device_of(handle);
    out->features.shaderInt64 = d.int64;
    for (auto *next = static_cast<VkBaseOutStructure *>(out->pNext); next != nullptr; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
            reinterpret_cast<VkPhysicalDevice16BitStorageFeatures *>(next)->storageBuffer16BitAccess = d.storage16;
        else if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES)
            reinterpret_cast<VkPhysicalDeviceShaderFloat16Int8Features *>(next)->shaderFloat16 = d.float16;
    }
}
VKAPI_ATTR void VKAPI_CALL memory_properties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *out) {
    *out = {};
    out->memoryHeapCount = 1;
    out->memoryHeaps[0] = {8ull << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}
VKAPI_ATTR void VKAPI_CALL queue_families(VkPhysicalDevice handle, uint32_t *n, VkQueueFamilyProperties *out) {
    VkQueueFamilyProperties family{};
    family.queueCount = 1;
    family.queueFlags = device_of(handle).queue_flags;
    list<VkQueueFamilyProperties>({family}, n, out);
}
VKAPI_ATTR VkResult VKAPI_CALL device_extensions(VkPhysicalDevice handle, const char *, uint32_t *n,
                                                 VkExtensionProperties *out) {
    std::vector<VkExtensionProperties> all;
    for (const std::string &name : device_of(handle).extensions) {
        all.push_back({});
        std::strncpy(all.back().extensionName, name.c_str(), VK_MAX_EXTENSION_NAME_SIZE - 1);
    }
    return list(all, n, out);
}

template <class F> PFN_vkVoidFunction erased(F function) { return reinterpret_cast<PFN_vkVoidFunction>(function); }

} // namespace

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fake_get_proc(VkInstance, const char *name) {
    static const std::vector<std::pair<const char *, PFN_vkVoidFunction>> functions{
        {"vkEnumerateInstanceVersion", erased(enumerate_version)},
        {"vkEnumerateInstanceExtensionProperties", erased(instance_extensions)},
        {"vkEnumerateInstanceLayerProperties", erased(instance_layers)},
        {"vkCreateInstance", erased(create_instance)},
        {"vkDestroyInstance", erased(destroy_instance)},
        {"vkCreateDebugUtilsMessengerEXT", erased(create_messenger)},
        {"vkDestroyDebugUtilsMessengerEXT", erased(destroy_messenger)},
        {"vkEnumeratePhysicalDevices", erased(physical_devices)},
        {"vkGetPhysicalDeviceProperties", erased(properties)},
        {"vkGetPhysicalDeviceProperties2", erased(properties2)},
        {"vkGetPhysicalDeviceFeatures2", erased(features2)},
        {"vkGetPhysicalDeviceMemoryProperties", erased(memory_properties)},
        {"vkGetPhysicalDeviceQueueFamilyProperties", erased(queue_families)},
        {"vkEnumerateDeviceExtensionProperties", erased(device_extensions)},
    };
    for (const auto &[known, function] : functions)
        if (std::strcmp(known, name) == 0) return function;
    return nullptr;
}

} // namespace test
