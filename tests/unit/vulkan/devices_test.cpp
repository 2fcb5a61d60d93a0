// Devices are described completely, and refused with every reason. Most tests use a fake loader, without a driver.
#include "drivers.hpp"
#include "fake_loader.hpp"

#include <algorithm>
#include <functional>

using namespace lamina;
using namespace lamina::vulkan;

namespace {

std::shared_ptr<VulkanInstance> fake_instance(test::FakeLoader loader, std::string *why_not = nullptr) {
    test::fake_loader() = std::move(loader);
    std::string why;
    auto instance = VulkanInstance::create({}, test::fake_get_proc, why);
    if (why_not != nullptr) *why_not = why;
    return instance;
}

// The description of a device that a test has changed.
DeviceInfo describe(const std::function<void(test::FakeDevice &)> &change) {
    test::FakeLoader loader;
    change(loader.devices.front());
    return fake_instance(std::move(loader))->devices().front();
}

} // namespace

TEST_CASE("devices: a device that meets the limits is usable, and has only the features that it reports") {
    const DeviceInfo info = describe([](auto &) {});
    CHECK(info.unusable.empty());
    CHECK(info.name == "Fake GPU");
    CHECK(info.driver == "fake");
    CHECK(info.kind == DeviceInfo::Kind::discrete);
    CHECK(info.memory_bytes == 8ull << 30);
    CHECK(info.capabilities.features == 0);
    CHECK(info.capabilities.max_binding_bytes == 1u << 27);
    CHECK(info.capabilities.binding_align == 64);
    CHECK(info.capabilities.max_invocations == 256);
    CHECK(info.capabilities.shared_bytes == 16384);
    CHECK(info.capabilities.subgroup == 32);
}

TEST_CASE("devices: a feature is reported when its Vulkan feature is there") {
    const auto features = [](const std::function<void(test::FakeDevice &)> &change) {
        return describe(change).capabilities.features;
    };
    CHECK(features([](auto &d) { d.float16 = VK_TRUE; }) == LAMINA_FEATURE_FLOAT16);
    CHECK(features([](auto &d) { d.storage16 = VK_TRUE; }) == LAMINA_FEATURE_STORAGE16);
    CHECK(features([](auto &d) { d.int64 = VK_TRUE; }) == LAMINA_FEATURE_INT64);
    CHECK(features([](auto &d) {
              d.subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
              d.subgroup.supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
          }) == (LAMINA_FEATURE_SUBGROUP_BASIC | LAMINA_FEATURE_SUBGROUP_BALLOT));
}

TEST_CASE("devices: subgroup operations that compute shaders lack are not reported") {
    const DeviceInfo info = describe([](auto &d) {
        d.subgroup.supportedStages = VK_SHADER_STAGE_FRAGMENT_BIT;
        d.subgroup.supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
    });
    CHECK(info.capabilities.features == 0);
}

TEST_CASE("devices: fp16 on Vulkan 1.1 counts only with its extension") {
    const auto on_1_1 = [](auto &d) {
        d.properties.apiVersion = VK_API_VERSION_1_1;
        d.float16 = VK_TRUE;
    };
    CHECK(describe(on_1_1).capabilities.features == 0);
    CHECK(describe([&](auto &d) {
              on_1_1(d);
              d.extensions = {VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME};
          }).capabilities.features == LAMINA_FEATURE_FLOAT16);
}

TEST_CASE("devices: an unusable one is listed with every reason, and opening it says them all") {
    test::FakeLoader loader;
    VkPhysicalDeviceLimits &limits = loader.devices.front().properties.limits;
    limits.maxComputeWorkGroupInvocations = 128;
    limits.maxPerStageDescriptorStorageBuffers = 4;
    loader.devices.front().queue_flags = VK_QUEUE_GRAPHICS_BIT;
    const auto instance = fake_instance(std::move(loader));
    CHECK(instance->devices().front().unusable.size() == 3);
    const std::string message = message_of([&] { (void)instance->open(0, nullptr); });
    CHECK_THAT(message, matchers::contains("no compute queue"));
    CHECK_THAT(message, matchers::contains("maxComputeWorkGroupInvocations is 128; at least 256 is needed"));
    CHECK_THAT(message, matchers::contains("maxPerStageDescriptorStorageBuffers is 4; at least 8 is needed"));
}

TEST_CASE("devices: a device of Vulkan 1.0 is named and refused") {
    const DeviceInfo info = describe([](auto &d) { d.properties.apiVersion = VK_API_VERSION_1_0; });
    REQUIRE(info.unusable.size() == 1);
    CHECK_THAT(info.unusable.front(), matchers::contains("Vulkan 1.0.0; at least 1.1"));
}

TEST_CASE("devices: an index beyond the last is refused with the last one") {
    const auto instance = fake_instance({});
    CHECK_THAT(message_of([&] { (void)instance->open(7, nullptr); }), matchers::contains("no device vulkan:7"));
}

TEST_CASE("devices: without a driver, a device or a new enough loader there is no instance, and the reason says why") {
    std::string why_not;
    test::FakeLoader loader;
    SECTION("no driver") {
        loader.create_instance = VK_ERROR_INCOMPATIBLE_DRIVER;
        CHECK(fake_instance(loader, &why_not) == nullptr);
        CHECK_THAT(why_not, matchers::contains("no Vulkan driver"));
    }
    SECTION("no device") {
        loader.devices.clear();
        CHECK(fake_instance(loader, &why_not) == nullptr);
        CHECK_THAT(why_not, matchers::contains("no Vulkan driver"));
    }
    SECTION("a loader of Vulkan 1.0") {
        loader.api_version = VK_API_VERSION_1_0;
        CHECK(fake_instance(loader, &why_not) == nullptr);
        CHECK_THAT(why_not, matchers::contains("does not support Vulkan 1.1"));
    }
}

TEST_CASE("devices: requested validation that is missing is an error") {
    test::fake_loader() = {};
    std::string why_not;
    const std::string message =
        message_of([&] { (void)VulkanInstance::create({.validation = true}, test::fake_get_proc, why_not); });
    CHECK_THAT(message, matchers::contains("VK_LAYER_KHRONOS_validation"));
}

TEST_CASE("devices: messages of the validation layers are passed on at once, and kept") {
    test::fake_loader() = {};
    test::fake_loader().has_validation_layer = true;
    std::string why_not;
    std::vector<std::string> heard;
    const auto instance = VulkanInstance::create(
        {.validation = true, .on_message = [&](const std::string &message) { heard.push_back(message); }},
        test::fake_get_proc, why_not);
    REQUIRE(instance != nullptr);
    const VkDebugUtilsMessengerCreateInfoEXT layer = test::fake_loader().messenger;
    const auto say = [&](VkDebugUtilsMessageSeverityFlagBitsEXT severity, const char *message) {
        VkDebugUtilsMessengerCallbackDataEXT data{};
        data.pMessage = message;
        layer.pfnUserCallback(severity, VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, &data, layer.pUserData);
    };
    say(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, "a hazard");
    say(VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, "a remark");
    CHECK(heard == std::vector<std::string>{"error: a hazard", "warning: a remark"});
    CHECK(instance->validation_messages() == heard);
}

TEST_CASE("devices: a cache key is a file name that tells chips, drivers, versions and builds apart") {
    DeviceInfo info;
    info.name = "llvmpipe (LLVM 15, 256 bits)";
    info.driver = "llvmpipe";
    info.driver_version = "Mesa 22.3.6 (LLVM/15)";
    info.uuid[15] = 0xab;
    CHECK(info.uuid_text() == "uuid:00000000-0000-0000-0000-0000000000ab");
    CHECK(info.cache_key() == "00000000-0000-0000-0000-0000000000ab_0000-0000_00000000000000000000000000000000_"
                              "llvmpipe__LLVM_15__256_bits__llvmpipe_Mesa_22.3.6__LLVM_15_");
    const auto differs = [&](const std::function<void(DeviceInfo &)> &change) {
        DeviceInfo other = info;
        change(other);
        return other.cache_key() != info.cache_key();
    };
    CHECK(differs([](auto &d) { d.uuid[0] = 1; }));
    CHECK(differs([](auto &d) { d.vendor_id = 1; }));
    CHECK(differs([](auto &d) { d.device_id = 1; })); // another card in the same slot
    CHECK(differs([](auto &d) { d.build[15] = 1; }));
    CHECK(differs([](auto &d) { d.name = "llvmpipe (LLVM 15, 512 bits)"; }));
    CHECK(differs([](auto &d) { d.driver = "other"; }));
    CHECK(differs([](auto &d) { d.driver_version = "Mesa 22.3.7 (LLVM/15)"; }));
    info.name = info.driver = info.driver_version = std::string(255, 'x');
    CHECK(info.cache_key().size() < 220);
}

TEST_CASE("devices: every driver of this machine is described") {
    const auto instance = test::validated_instance();
    if (instance == nullptr) return;
    REQUIRE_FALSE(instance->devices().empty());
    for (const DeviceInfo &info : instance->devices()) {
        CAPTURE(info.name);
        CHECK_FALSE(info.name.empty());
        CHECK_FALSE(info.driver.empty());
        CHECK_FALSE(info.driver_version.empty());
        CHECK(info.api_version.substr(0, 2) == "1.");
        CHECK(info.uuid_text().size() == 41);
        if (!info.unusable.empty()) continue;
        CHECK(info.memory_bytes > 0);
        CHECK(info.capabilities.struct_size == sizeof(lamina_device));
        CHECK(info.capabilities.max_binding_bytes >= 1u << 27);
        CHECK(info.capabilities.subgroup >= 1);
        CHECK(instance->open(info.index, nullptr)->info().name == info.name);
    }
    CHECK(test::messages_of(*instance) == "");
}
