// A Vulkan driver that forwards every call to the driver library $LAMINA_DRIVER_BELOW, and fails when a test asks for
// it. It is below Vulkan's loader and the validation layers, which therefore see its faults as Lamina does.
#include "faults.hpp"
#include "lost_workgroups.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace {

using test::Faults;

Faults &faults() {
    static Faults object;
    return object;
}

// The devices that were lost, and the device of each queue. Guarded by Faults::mutex.
struct Lost {
    std::map<VkQueue, VkDevice> queues;
    std::set<VkDevice> devices;
};
Lost &lost() {
    static Lost object;
    return object;
}

// Of the device that was opened last, if its dispatches lose workgroups.
std::optional<test::LostWorkgroups> &lossy() {
    static std::optional<test::LostWorkgroups> object;
    return object;
}

VkDevice device_of(VkDevice device) { return device; }
VkDevice device_of(VkQueue queue) {
    const std::lock_guard lock(faults().mutex);
    return lost().queues.at(queue);
}
VkDevice device_of(VkCommandBuffer) { return VK_NULL_HANDLE; } // recording does not notice a lost device
VkDevice device_of(VkPhysicalDevice) { return VK_NULL_HANDLE; }

bool is_wait(const char *function) {
    return std::strcmp(function, "vkWaitForFences") == 0 || std::strcmp(function, "vkQueueWaitIdle") == 0;
}

// What this call returns without being forwarded; nothing if it is forwarded.
std::optional<VkResult> fault_of(const char *function, VkDevice device) {
    Faults &f = faults();
    const std::lock_guard lock(f.mutex);
    ++f.called[function];
    const bool works = is_wait(function) || std::strcmp(function, "vkQueueSubmit") == 0;
    if (works && lost().devices.contains(device)) return VK_ERROR_DEVICE_LOST;
    if (f.function.empty() || f.function == function) {
        ++f.calls;
        if (f.nth != 0 && f.calls % f.nth == 0 && (f.again || f.calls == f.nth)) {
            if (f.answer == VK_ERROR_DEVICE_LOST) lost().devices.insert(device);
            return f.answer;
        }
    }
    if (!f.opens && std::strcmp(function, "vkCreateDevice") == 0) return VK_ERROR_INITIALIZATION_FAILED;
    if (is_wait(function) && f.fences_hang) return VK_TIMEOUT;
    return std::nullopt;
}

// A function's name as a template argument.
template <size_t n> struct Name {
    char text[n];
    constexpr Name(const char (&name)[n]) { std::copy_n(name, n, text); }
};

bool makes_object(const char *function) {
    return std::strncmp(function, "vkCreate", 8) == 0 || std::strcmp(function, "vkAllocateMemory") == 0;
}

// A function that may fail.
template <Name name, class Function> struct Fallible;
template <Name name, class First, class... Rest> struct Fallible<name, VkResult(VKAPI_PTR *)(First, Rest...)> {
    static inline VkResult(VKAPI_PTR *below)(First, Rest...) = nullptr;

    static VKAPI_ATTR VkResult VKAPI_CALL call(First first, Rest... rest) {
        const std::optional<VkResult> fault = fault_of(name.text, device_of(first));
        // A wait that fails still waits: the driver below must not use objects that are destroyed afterwards.
        if (fault && !is_wait(name.text)) return *fault;
        const VkResult result = below(first, rest...);
        if (fault) return *fault;
        if (result == VK_SUCCESS && makes_object(name.text)) {
            const std::lock_guard lock(faults().mutex);
            ++faults().alive[name.text];
        }
        return result;
    }
};

// A function that destroys what `maker` created.
template <Name maker, class Function> struct Destroying;
template <Name maker, class Handle>
struct Destroying<maker, void(VKAPI_PTR *)(VkDevice, Handle, const VkAllocationCallbacks *)> {
    static inline void(VKAPI_PTR *below)(VkDevice, Handle, const VkAllocationCallbacks *) = nullptr;

    static VKAPI_ATTR void VKAPI_CALL call(VkDevice device, Handle handle, const VkAllocationCallbacks *callbacks) {
        below(device, handle, callbacks);
        if (handle == Handle{}) return;
        const std::lock_guard lock(faults().mutex);
        --faults().alive[maker.text];
    }
};

PFN_vkVoidFunction in_front_of(const char *name, PFN_vkVoidFunction below);

// ---- Functions with behaviour of their own; `below` is set when the function is first requested ----

struct GetDeviceProcAddr {
    static inline PFN_vkGetDeviceProcAddr below = nullptr;
    static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL call(VkDevice device, const char *name) {
        return in_front_of(name, below(device, name));
    }
};

struct CreateDevice : Fallible<"vkCreateDevice", PFN_vkCreateDevice> {
    static VKAPI_ATTR VkResult VKAPI_CALL call(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                               const VkAllocationCallbacks *callbacks, VkDevice *device) {
        const VkResult result = Fallible::call(physical, info, callbacks, device);
        if (result == VK_SUCCESS && faults().lossy_submission != 0) lossy().emplace(*device, GetDeviceProcAddr::below);
        return result;
    }
};

struct CmdDispatch {
    static inline PFN_vkCmdDispatch below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
        const std::lock_guard lock(faults().mutex);
        if (!lossy() || !lossy()->record(commands, {x, y, z})) below(commands, x, y, z);
    }
};

struct QueueSubmit : Fallible<"vkQueueSubmit", PFN_vkQueueSubmit> {
    static VKAPI_ATTR VkResult VKAPI_CALL call(VkQueue queue, uint32_t n, const VkSubmitInfo *infos, VkFence fence) {
        using What = test::LostWorkgroups::Lost;
        if (lossy()) {
            const std::lock_guard lock(faults().mutex);
            const uint64_t nth = faults().lossy_submission;
            const bool loses = nth != 0 && faults().called["vkQueueSubmit"] % nth == 0;
            lossy()->lose(!loses ? What::none : faults().loses_all ? What::all : What::last);
        }
        return Fallible::call(queue, n, infos, fence);
    }
};

struct DestroyDevice {
    static inline PFN_vkDestroyDevice below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkDevice device, const VkAllocationCallbacks *callbacks) {
        if (lossy() && lossy()->device() == device) {
            lossy()->destroy();
            lossy().reset();
        }
        below(device, callbacks);
        const std::lock_guard lock(faults().mutex);
        std::erase_if(lost().queues, [&](const auto &entry) { return entry.second == device; });
        lost().devices.erase(device);
        --faults().alive["vkCreateDevice"];
    }
};

struct GetDeviceQueue {
    static inline PFN_vkGetDeviceQueue below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkDevice device, uint32_t family, uint32_t index, VkQueue *queue) {
        below(device, family, index, queue);
        const std::lock_guard lock(faults().mutex);
        lost().queues[*queue] = device;
    }
};

struct GetProperties {
    static inline PFN_vkGetPhysicalDeviceProperties below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
        below(device, properties);
        if (faults().change != nullptr) faults().change(*properties);
    }
};

struct GetProperties2 {
    static inline PFN_vkGetPhysicalDeviceProperties2 below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
        below(device, properties);
        if (faults().change != nullptr) faults().change(properties->properties);
        if (faults().max_allocation_bytes == 0) return;
        for (auto *next = static_cast<VkBaseOutStructure *>(properties->pNext); next != nullptr; next = next->pNext) {
            if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
                reinterpret_cast<VkPhysicalDeviceMaintenance3Properties *>(next)->maxMemoryAllocationSize =
                    faults().max_allocation_bytes;
            if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES)
                reinterpret_cast<VkPhysicalDeviceVulkan11Properties *>(next)->maxMemoryAllocationSize =
                    faults().max_allocation_bytes;
        }
    }
};

void shrink(VkPhysicalDeviceMemoryProperties &memory) {
    if (faults().heap_bytes == 0) return;
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) memory.memoryHeaps[i].size = faults().heap_bytes;
}

struct GetMemory {
    static inline PFN_vkGetPhysicalDeviceMemoryProperties below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *memory) {
        below(device, memory);
        shrink(*memory);
    }
};

struct GetMemory2 {
    static inline PFN_vkGetPhysicalDeviceMemoryProperties2 below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *memory) {
        below(device, memory);
        shrink(memory->memoryProperties);
        for (auto *next = static_cast<VkBaseOutStructure *>(memory->pNext); next != nullptr; next = next->pNext)
            if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT &&
                faults().heap_bytes != 0) {
                auto &budget = *reinterpret_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT *>(next);
                for (VkDeviceSize &bytes : budget.heapBudget) bytes = faults().heap_bytes;
                for (VkDeviceSize &bytes : budget.heapUsage) bytes = 0;
            }
    }
};

struct GetQueueFamilies {
    static inline PFN_vkGetPhysicalDeviceQueueFamilyProperties below = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkPhysicalDevice device, uint32_t *n, VkQueueFamilyProperties *families) {
        below(device, n, families);
        if (families == nullptr) return;
        for (uint32_t i = 0; !faults().timestamps && i < *n; ++i) families[i].timestampValidBits = 0;
        if (faults().computes) return;
        for (uint32_t i = 0; i < *n; ++i) families[i].queueFlags &= ~static_cast<VkQueueFlags>(VK_QUEUE_COMPUTE_BIT);
    }
};

// ---- The list of these functions ----

struct Wrapper {
    const char *name;
    void (*set_below)(PFN_vkVoidFunction);
    PFN_vkVoidFunction call;
};

template <class W> Wrapper wrapper(const char *name) {
    return {name, [](PFN_vkVoidFunction below) { W::below = reinterpret_cast<decltype(W::below)>(below); },
            reinterpret_cast<PFN_vkVoidFunction>(&W::call)};
}
template <Name name, class Function> Wrapper fallible() { return wrapper<Fallible<name, Function>>(name.text); }
template <Name maker, class Function> Wrapper destroying(const char *name) {
    return wrapper<Destroying<maker, Function>>(name);
}

// Drivers have one function for all of their devices, so the one requested first serves every device.
PFN_vkVoidFunction in_front_of(const char *name, PFN_vkVoidFunction below) {
    static const std::vector<Wrapper> wrappers{
        wrapper<GetDeviceProcAddr>("vkGetDeviceProcAddr"),
        wrapper<GetProperties>("vkGetPhysicalDeviceProperties"),
        wrapper<GetProperties2>("vkGetPhysicalDeviceProperties2"),
        wrapper<GetMemory>("vkGetPhysicalDeviceMemoryProperties"),
        wrapper<GetMemory2>("vkGetPhysicalDeviceMemoryProperties2"),
        wrapper<GetQueueFamilies>("vkGetPhysicalDeviceQueueFamilyProperties"),
        wrapper<GetDeviceQueue>("vkGetDeviceQueue"),
        wrapper<DestroyDevice>("vkDestroyDevice"),
        wrapper<CreateDevice>("vkCreateDevice"),
        wrapper<QueueSubmit>("vkQueueSubmit"),
        wrapper<CmdDispatch>("vkCmdDispatch"),
        fallible<"vkWaitForFences", PFN_vkWaitForFences>(),
        fallible<"vkQueueWaitIdle", PFN_vkQueueWaitIdle>(),
        fallible<"vkResetFences", PFN_vkResetFences>(),
        fallible<"vkAllocateMemory", PFN_vkAllocateMemory>(),
        fallible<"vkBindBufferMemory", PFN_vkBindBufferMemory>(),
        fallible<"vkMapMemory", PFN_vkMapMemory>(),
        fallible<"vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers>(),
        fallible<"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer>(),
        fallible<"vkEndCommandBuffer", PFN_vkEndCommandBuffer>(),
        fallible<"vkAllocateDescriptorSets", PFN_vkAllocateDescriptorSets>(),
        fallible<"vkCreateBuffer", PFN_vkCreateBuffer>(),
        fallible<"vkCreateCommandPool", PFN_vkCreateCommandPool>(),
        fallible<"vkCreateComputePipelines", PFN_vkCreateComputePipelines>(),
        fallible<"vkCreateDescriptorPool", PFN_vkCreateDescriptorPool>(),
        fallible<"vkCreateDescriptorSetLayout", PFN_vkCreateDescriptorSetLayout>(),
        fallible<"vkCreateFence", PFN_vkCreateFence>(),
        fallible<"vkCreatePipelineCache", PFN_vkCreatePipelineCache>(),
        fallible<"vkCreatePipelineLayout", PFN_vkCreatePipelineLayout>(),
        fallible<"vkCreateShaderModule", PFN_vkCreateShaderModule>(),
        destroying<"vkAllocateMemory", PFN_vkFreeMemory>("vkFreeMemory"),
        destroying<"vkCreateBuffer", PFN_vkDestroyBuffer>("vkDestroyBuffer"),
        destroying<"vkCreateCommandPool", PFN_vkDestroyCommandPool>("vkDestroyCommandPool"),
        destroying<"vkCreateComputePipelines", PFN_vkDestroyPipeline>("vkDestroyPipeline"),
        destroying<"vkCreateDescriptorPool", PFN_vkDestroyDescriptorPool>("vkDestroyDescriptorPool"),
        destroying<"vkCreateDescriptorSetLayout", PFN_vkDestroyDescriptorSetLayout>("vkDestroyDescriptorSetLayout"),
        destroying<"vkCreateFence", PFN_vkDestroyFence>("vkDestroyFence"),
        destroying<"vkCreatePipelineCache", PFN_vkDestroyPipelineCache>("vkDestroyPipelineCache"),
        destroying<"vkCreatePipelineLayout", PFN_vkDestroyPipelineLayout>("vkDestroyPipelineLayout"),
        destroying<"vkCreateShaderModule", PFN_vkDestroyShaderModule>("vkDestroyShaderModule"),
    };
    if (below == nullptr) return nullptr;
    for (const Wrapper &w : wrappers)
        if (std::strcmp(w.name, name) == 0) {
            w.set_below(below);
            return w.call;
        }
    return below;
}

// A function of the driver below; null if it has none of that name.
template <class Function> Function below(const char *name) {
    static void *const library = [] {
        const char *file = std::getenv("LAMINA_DRIVER_BELOW");
        return file != nullptr ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : nullptr;
    }();
    return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

} // namespace

// ---- The functions that Vulkan's loader looks up in a driver ----

// NOLINTBEGIN(readability-identifier-naming): the names are the loader's
extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    const auto negotiate = below<VkResult(VKAPI_PTR *)(uint32_t *)>("vk_icdNegotiateLoaderICDInterfaceVersion");
    return negotiate != nullptr ? negotiate(version) : VK_ERROR_INCOMPATIBLE_DRIVER;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name) {
    const auto get = below<PFN_vkGetInstanceProcAddr>("vk_icdGetInstanceProcAddr");
    return get != nullptr ? in_front_of(name, get(instance, name)) : nullptr;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name) {
    const auto get = below<PFN_vkGetInstanceProcAddr>("vk_icdGetPhysicalDeviceProcAddr");
    return get != nullptr ? in_front_of(name, get(instance, name)) : nullptr;
}

// For tests.
EXPORT test::Faults *lamina_faults() { return &faults(); }
}
// NOLINTEND(readability-identifier-naming)
