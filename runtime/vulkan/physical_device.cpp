#include "vulkan/physical_device.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <span>

namespace lamina::vulkan {

namespace {

// Limits that every baseline may rely on (plugin.h), although Vulkan itself guarantees less.
constexpr uint32_t needed_invocations = 256, needed_shared_bytes = 16384, needed_storage_buffers = 8;

std::string version_text(uint32_t v) {
    return std::to_string(VK_API_VERSION_MAJOR(v)) + "." + std::to_string(VK_API_VERSION_MINOR(v)) + "." +
           std::to_string(VK_API_VERSION_PATCH(v));
}

DeviceInfo::Kind kind_of(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return DeviceInfo::Kind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return DeviceInfo::Kind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return DeviceInfo::Kind::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return DeviceInfo::Kind::software;
    default:
        return DeviceInfo::Kind::other;
    }
}

std::set<std::string, std::less<>> extensions_of(VkPhysicalDevice device) {
    uint32_t n = 0;
    check(vkEnumerateDeviceExtensionProperties(device, nullptr, &n, nullptr), "listing device extensions");
    std::vector<VkExtensionProperties> list(n);
    check(vkEnumerateDeviceExtensionProperties(device, nullptr, &n, list.data()), "listing device extensions");
    list.resize(n);
    std::set<std::string, std::less<>> names;
    for (const VkExtensionProperties &e : list) names.insert(e.extensionName);
    return names;
}

// Fills name, driver, uuid, limits. Queries only structures that the device's version or extensions have.
void read_properties(PhysicalDevice &d, VkPhysicalDeviceSubgroupProperties &subgroup) {
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceIDProperties id{};
    id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceMaintenance3Properties maintenance{};
    maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    VkPhysicalDeviceProperties2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &subgroup;
    subgroup.pNext = &id;
    id.pNext = &maintenance;
    const bool names_driver = d.api_version >= VK_API_VERSION_1_2 || d.offers(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    if (names_driver) maintenance.pNext = &driver;
    vkGetPhysicalDeviceProperties2(d.handle, &all);

    const VkPhysicalDeviceProperties &p = all.properties;
    d.limits = p.limits;
    d.info.vendor_id = p.vendorID;
    d.info.device_id = p.deviceID;
    std::copy_n(p.pipelineCacheUUID, VK_UUID_SIZE, d.info.build.begin());
    d.max_allocation_bytes = maintenance.maxMemoryAllocationSize;
    d.info.name = p.deviceName;
    d.info.kind = kind_of(p.deviceType);
    d.info.api_version = version_text(p.apiVersion);
    d.info.driver = names_driver ? driver.driverName : "unnamed driver";
    // Each vendor encodes driverVersion differently, so the driver's own text is preferred.
    d.info.driver_version = names_driver ? driver.driverInfo : "";
    if (d.info.driver_version.empty()) d.info.driver_version = version_text(p.driverVersion);
    std::copy_n(id.deviceUUID, VK_UUID_SIZE, d.info.uuid.begin());
}

uint64_t subgroup_features(const VkPhysicalDeviceSubgroupProperties &subgroup) {
    if ((subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return 0;
    uint64_t features = 0;
    const auto offer = [&](VkSubgroupFeatureFlags operations, uint64_t feature) {
        if ((subgroup.supportedOperations & operations) == operations) features |= feature;
    };
    offer(VK_SUBGROUP_FEATURE_BASIC_BIT, LAMINA_FEATURE_SUBGROUP_BASIC);
    offer(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, LAMINA_FEATURE_SUBGROUP_ARITHMETIC);
    offer(VK_SUBGROUP_FEATURE_SHUFFLE_BIT, LAMINA_FEATURE_SUBGROUP_SHUFFLE);
    offer(VK_SUBGROUP_FEATURE_BALLOT_BIT, LAMINA_FEATURE_SUBGROUP_BALLOT);
    return features;
}

#ifdef VK_KHR_cooperative_matrix
uint32_t dtype_of(VkComponentTypeKHR type) {
    return type == VK_COMPONENT_TYPE_FLOAT16_KHR ? LAMINA_F16 : type == VK_COMPONENT_TYPE_FLOAT32_KHR ? LAMINA_F32 : 0;
}

bool computes_with_matrices(VkPhysicalDevice device) {
    VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrix{};
    matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    VkPhysicalDeviceProperties2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &matrix;
    vkGetPhysicalDeviceProperties2(device, &all);
    return (matrix.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

// The shapes of float products at subgroup scope.
std::vector<lamina_matrix_shape> matrix_shapes(VkPhysicalDevice device) {
    if (vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr) return {};
    uint32_t n = 0;
    check(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &n, nullptr), "listing cooperative matrices");
    VkCooperativeMatrixPropertiesKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    std::vector<VkCooperativeMatrixPropertiesKHR> list(n, empty);
    check(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &n, list.data()), "listing cooperative matrices");
    list.resize(n);
    std::vector<lamina_matrix_shape> shapes;
    for (const VkCooperativeMatrixPropertiesKHR &m : list) {
        const uint32_t in = dtype_of(m.AType), accumulator = dtype_of(m.CType);
        if (m.scope == VK_SCOPE_SUBGROUP_KHR && m.AType == m.BType && m.CType == m.ResultType && in != 0 &&
            accumulator != 0)
            shapes.push_back({m.MSize, m.NSize, m.KSize, in, accumulator});
    }
    return shapes;
}
#endif

// Sets the feature bits that can be enabled together; logical_device.cpp enables exactly these.
void read_features(PhysicalDevice &d) {
    VkPhysicalDeviceFeatures2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    VkPhysicalDevice16BitStorageFeatures storage{};
    storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    all.pNext = &storage;
    VkPhysicalDeviceShaderFloat16Int8Features half{};
    half.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    if (d.api_version >= VK_API_VERSION_1_2 || d.offers(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) {
        half.pNext = all.pNext;
        all.pNext = &half;
    }
#ifdef VK_KHR_cooperative_matrix
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
    matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
    VkPhysicalDeviceVulkanMemoryModelFeatures model{};
    model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
    if (d.api_version >= VK_API_VERSION_1_2 && d.offers(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) {
        model.pNext = all.pNext;
        matrix.pNext = &model;
        all.pNext = &matrix;
    }
#endif
    vkGetPhysicalDeviceFeatures2(d.handle, &all);
    uint64_t &features = d.info.capabilities.features;
    if (half.shaderFloat16 == VK_TRUE) features |= LAMINA_FEATURE_FLOAT16;
    if (storage.storageBuffer16BitAccess == VK_TRUE) features |= LAMINA_FEATURE_STORAGE16;
    if (all.features.shaderInt64 == VK_TRUE) features |= LAMINA_FEATURE_INT64;
#ifdef VK_KHR_cooperative_matrix
    // Kernels with cooperative matrices are compiled for the Vulkan memory model.
    if (matrix.cooperativeMatrix == VK_TRUE && model.vulkanMemoryModel == VK_TRUE && computes_with_matrices(d.handle)) {
        d.info.matrices = matrix_shapes(d.handle);
        if (!d.info.matrices.empty()) features |= LAMINA_FEATURE_COOPERATIVE_MATRIX;
    }
#endif
}

void read_capabilities(PhysicalDevice &d, const VkPhysicalDeviceSubgroupProperties &subgroup) {
    lamina_device &c = d.info.capabilities;
    c.struct_size = sizeof c;
    c.features = subgroup_features(subgroup);
    c.subgroup = subgroup.subgroupSize;
    c.max_binding_bytes = std::min<uint64_t>(d.limits.maxStorageBufferRange, d.max_allocation_bytes);
    c.binding_align = d.limits.minStorageBufferOffsetAlignment;
    c.max_invocations = d.limits.maxComputeWorkGroupInvocations;
    std::copy_n(d.limits.maxComputeWorkGroupSize, 3, c.max_local);
    std::copy_n(d.limits.maxComputeWorkGroupCount, 3, c.max_groups);
    c.shared_bytes = d.limits.maxComputeSharedMemorySize;
    read_features(d);
    c.matrices = d.info.matrices.data(); // moving the list keeps its storage; copies point to the instance's
    c.n_matrices = static_cast<uint32_t>(d.info.matrices.size());
    c.matrix_size = sizeof(lamina_matrix_shape);
}

void read_memory(PhysicalDevice &d) {
    vkGetPhysicalDeviceMemoryProperties(d.handle, &d.memory);
    for (uint32_t i = 0; i < d.memory.memoryHeapCount; ++i)
        if ((d.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            d.info.memory_bytes = std::max<uint64_t>(d.info.memory_bytes, d.memory.memoryHeaps[i].size);
}

// False if no queue family can compute.
bool find_queue_family(PhysicalDevice &d) {
    uint32_t n = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(d.handle, &n, nullptr);
    std::vector<VkQueueFamilyProperties> families(n);
    vkGetPhysicalDeviceQueueFamilyProperties(d.handle, &n, families.data());
    const auto computes = [](const VkQueueFamilyProperties &f) {
        return f.queueCount > 0 && (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    };
    const auto found = std::find_if(families.begin(), families.end(), computes);
    d.queue_family = static_cast<uint32_t>(found - families.begin());
    if (found == families.end()) return false;
    d.timestamp_bits = found->timestampValidBits;
    return true;
}

void find_missing_limits(PhysicalDevice &d) {
    const auto need = [&](uint64_t have, uint64_t least, const char *what) {
        if (have < least)
            d.info.unusable.push_back(std::string(what) + " is " + std::to_string(have) + "; at least " +
                                      std::to_string(least) + " is needed");
    };
    need(d.limits.maxComputeWorkGroupInvocations, needed_invocations, "maxComputeWorkGroupInvocations");
    need(d.limits.maxComputeWorkGroupSize[0], needed_invocations, "maxComputeWorkGroupSize[0]");
    need(d.limits.maxComputeSharedMemorySize, needed_shared_bytes, "maxComputeSharedMemorySize");
    need(d.limits.maxPushConstantsSize, LAMINA_MAX_PUSH_BYTES, "maxPushConstantsSize");
    need(d.limits.maxPerStageDescriptorStorageBuffers, needed_storage_buffers, "maxPerStageDescriptorStorageBuffers");
}

} // namespace

PhysicalDevice inspect(VkPhysicalDevice handle, uint32_t index, uint32_t instance_api_version) {
    PhysicalDevice d;
    d.handle = handle;
    d.info.index = index;
    VkPhysicalDeviceProperties basic{};
    vkGetPhysicalDeviceProperties(handle, &basic);
    d.api_version = std::min(basic.apiVersion, instance_api_version);
    if (basic.apiVersion < VK_API_VERSION_1_1) { // it has none of the queries below
        d.info.name = basic.deviceName;
        d.info.kind = kind_of(basic.deviceType);
        d.info.api_version = version_text(basic.apiVersion);
        d.info.driver = "unnamed driver";
        d.info.driver_version = version_text(basic.driverVersion);
        d.info.unusable.push_back("it supports Vulkan " + d.info.api_version + "; at least 1.1 is needed");
        return d;
    }
    d.extensions = extensions_of(handle);
    VkPhysicalDeviceSubgroupProperties subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    read_properties(d, subgroup);
    read_capabilities(d, subgroup);
    read_memory(d);
    if (!find_queue_family(d)) d.info.unusable.emplace_back("it has no compute queue");
    find_missing_limits(d);
    return d;
}

namespace {

std::string hex(std::span<const uint8_t> bytes) {
    std::string text;
    for (const uint8_t byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

} // namespace

std::string DeviceInfo::uuid_text() const {
    std::string text = hex(uuid);
    for (const size_t end : {20u, 16u, 12u, 8u}) text.insert(end, "-");
    return "uuid:" + text;
}

std::string DeviceInfo::cache_key() const {
    // None of these is unique alone: a uuid may identify a slot (AMD on Linux) or a driver's version (Mesa's software),
    // and several builds may have the same version.
    char chip[18];
    std::snprintf(chip, sizeof chip, "%04x-%04x", vendor_id, device_id);
    constexpr size_t most = 40; // per part that may be long: file names are limited to 255 bytes
    std::string key = uuid_text().substr(5) + "_" + chip + "_" + hex(build) + "_" + name.substr(0, most) + "_" +
                      driver.substr(0, most) + "_" + driver_version.substr(0, most);
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.';
    };
    std::replace_if(
        key.begin(), key.end(), [&](char c) { return !plain(c); }, '_');
    return key;
}

} // namespace lamina::vulkan
