#include "vulkan/instance.hpp"

#include "vulkan/open_device.hpp"

#include <algorithm>
#include <cstring>

namespace lamina::vulkan {

namespace {

constexpr const char *validation_layer = "VK_LAYER_KHRONOS_validation";
std::mutex loading; // guards volk's globals while they are being set

std::string severity(VkDebugUtilsMessageSeverityFlagBitsEXT bits) {
    return (bits & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0 ? "error: " : "warning: ";
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT bits, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT *data, void *log) {
    static_cast<ValidationLog *>(log)->add(severity(bits) + data->pMessage);
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(ValidationLog &log) {
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT; // not the loader's general messages
    info.pfnUserCallback = on_message;
    info.pUserData = &log;
    return info;
}

bool has_validation_layer() {
    uint32_t n = 0;
    if (vkEnumerateInstanceLayerProperties(&n, nullptr) != VK_SUCCESS) return false;
    std::vector<VkLayerProperties> layers(n);
    if (vkEnumerateInstanceLayerProperties(&n, layers.data()) < 0) return false;
    return std::any_of(layers.begin(), layers.end(),
                       [](const VkLayerProperties &l) { return std::strcmp(l.layerName, validation_layer) == 0; });
}

bool offers_instance_extension(const char *name) {
    uint32_t n = 0;
    if (vkEnumerateInstanceExtensionProperties(nullptr, &n, nullptr) != VK_SUCCESS) return false;
    std::vector<VkExtensionProperties> extensions(n);
    if (vkEnumerateInstanceExtensionProperties(nullptr, &n, extensions.data()) < 0) return false;
    return std::any_of(extensions.begin(), extensions.end(),
                       [&](const VkExtensionProperties &e) { return std::strcmp(e.extensionName, name) == 0; });
}

// The highest version from 1.1 to 1.3 that the loader supports; 0 if it supports less.
uint32_t loader_api_version() {
    uint32_t version = VK_API_VERSION_1_0;
    if (vkEnumerateInstanceVersion == nullptr || vkEnumerateInstanceVersion(&version) != VK_SUCCESS) return 0;
    return version < VK_API_VERSION_1_1 ? 0 : std::min<uint32_t>(version, VK_API_VERSION_1_3);
}

} // namespace

void ValidationLog::add(std::string message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    if (on_message_) on_message_(messages_.back());
}

std::vector<std::string> ValidationLog::messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
}

std::shared_ptr<Instance> Instance::create(const InstanceOptions &options, std::string &why_not) {
    return VulkanInstance::create(options, nullptr, why_not);
}

std::shared_ptr<VulkanInstance> VulkanInstance::create(const InstanceOptions &options, PFN_vkGetInstanceProcAddr loader,
                                                       std::string &why_not) {
    const std::lock_guard lock(loading);
    if (loader != nullptr) {
        volkInitializeCustom(loader);
    } else if (volkInitialize() != VK_SUCCESS) {
        why_not = "the Vulkan loader, libvulkan.so.1, is not installed (Debian: apt install libvulkan1)";
        return nullptr;
    }
    const uint32_t api_version = loader_api_version();
    if (api_version == 0) {
        why_not = "the Vulkan loader does not support Vulkan 1.1";
        return nullptr;
    }
    if (options.validation && !has_validation_layer())
        throw Error(ErrorCode::no_device, std::string(validation_layer) +
                                              " was requested but is not installed (Debian: apt install "
                                              "vulkan-validationlayers)");

    std::shared_ptr<VulkanInstance> made(new VulkanInstance(options));
    VkResult result = made->create_instance(options, api_version);
    if (result == VK_SUCCESS) result = made->find_devices(api_version);
    if (result != VK_SUCCESS && result != VK_ERROR_INCOMPATIBLE_DRIVER) {
        why_not = "Vulkan could not be started: the loader returned " + name_of(result);
        return nullptr;
    }
    watch_for_exit();
    if (made->infos_.empty()) {
        why_not = "no Vulkan driver is installed (Debian: apt install mesa-vulkan-drivers, or the GPU vendor's driver)";
        return nullptr;
    }
    return made;
}

VkResult VulkanInstance::create_instance(const InstanceOptions &options, uint32_t api_version) {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "lamina";
    application.apiVersion = api_version;

    std::vector<const char *> extensions;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if (offers_instance_extension(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) { // lists MoltenVK too
        extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }

    const VkValidationFeatureEnableEXT checks[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
                                                   VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT};
    // Kernels are instrumented instead of running the core checks; the layers advise against both at once.
    const VkValidationFeatureDisableEXT core = VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT;
    VkValidationFeaturesEXT validation{};
    validation.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    validation.enabledValidationFeatureCount = options.gpu_assisted ? 2 : 1;
    validation.pEnabledValidationFeatures = checks;
    validation.disabledValidationFeatureCount = options.gpu_assisted ? 1 : 0;
    validation.pDisabledValidationFeatures = &core;
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(log_);
    messenger.pNext = &validation;
    if (options.validation) {
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
        extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
        info.pNext = &messenger; // also reports messages from creating and destroying the instance
        info.ppEnabledLayerNames = &validation_layer;
        info.enabledLayerCount = 1;
    }
    info.ppEnabledExtensionNames = extensions.data();
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());

    VkInstance created = VK_NULL_HANDLE; // meaningless after a failure
    const VkResult result = vkCreateInstance(&info, nullptr, &created);
    if (result != VK_SUCCESS) return result;
    instance_ = created;
    volkLoadInstanceOnly(instance_);
    destroy_instance_ = vkDestroyInstance;
    if (options.validation) listen();
    return VK_SUCCESS;
}

void VulkanInstance::listen() {
    destroy_messenger_ = vkDestroyDebugUtilsMessengerEXT;
    const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(log_);
    check(vkCreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_), "listening to the validation layers");
}

VkResult VulkanInstance::find_devices(uint32_t api_version) {
    uint32_t n = 0;
    VkResult result = vkEnumeratePhysicalDevices(instance_, &n, nullptr);
    if (result < 0) return result;
    std::vector<VkPhysicalDevice> handles(n);
    if (n > 0) result = vkEnumeratePhysicalDevices(instance_, &n, handles.data());
    if (result < 0) return result;
    physical_.reserve(n);
    for (uint32_t i = 0; i < n; ++i) {
        physical_.push_back(inspect(handles[i], i, api_version));
        infos_.push_back(physical_.back().info);
    }
    return VK_SUCCESS;
}

std::shared_ptr<Device> VulkanInstance::open(uint32_t index, std::shared_ptr<const abi::Registry> plugins) {
    if (index >= physical_.size())
        throw Error(ErrorCode::no_device, "there is no device vulkan:" + std::to_string(index) +
                                              "; the last is vulkan:" + std::to_string(physical_.size() - 1));
    const DeviceInfo &info = infos_[index];
    if (!info.unusable.empty()) {
        std::string message = "vulkan:" + std::to_string(index) + " (" + info.name + ") cannot be used: ";
        for (size_t i = 0; i < info.unusable.size(); ++i) message += (i != 0 ? "; " : "") + info.unusable[i];
        throw Error(ErrorCode::no_device, message);
    }
    return open_device(shared_from_this(), physical_[index], std::move(plugins));
}

VulkanInstance::~VulkanInstance() {
    if (drivers_are_gone()) return;
    if (messenger_ != VK_NULL_HANDLE) destroy_messenger_(instance_, messenger_, nullptr);
    if (instance_ != VK_NULL_HANDLE) destroy_instance_(instance_, nullptr);
}

} // namespace lamina::vulkan
