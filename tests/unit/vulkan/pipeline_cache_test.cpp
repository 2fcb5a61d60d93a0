// The pipeline cache file: used if it is valid, ignored if anything about it is wrong.
#include "drivers.hpp"

#include "places.hpp"
#include "plan/layer_plan.hpp"
#include "vulkan/pipeline_cache.hpp"
#include "vulkan/pipelines.hpp"

#include <cstring>

using namespace lamina;
using namespace lamina::vulkan;

namespace {

PhysicalDevice some_device() {
    PhysicalDevice device;
    device.info.vendor_id = 0x1234;
    device.info.device_id = 7;
    device.info.build.fill(0x5a);
    return device;
}

// Cache data like that of a driver for this device: a header and some code.
std::vector<std::byte> driver_data(const PhysicalDevice &device) {
    VkPipelineCacheHeaderVersionOne header{};
    header.headerSize = sizeof header;
    header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
    header.vendorID = device.info.vendor_id;
    header.deviceID = device.info.device_id;
    std::memcpy(header.pipelineCacheUUID, device.info.build.data(), VK_UUID_SIZE);
    std::vector<std::byte> data(sizeof header + 100, std::byte{0x77});
    std::memcpy(data.data(), &header, sizeof header);
    return data;
}

} // namespace

TEST_CASE("pipeline cache: it is read back only for the same device and driver") {
    const TemporaryFolder folder;
    const auto file = folder.path() / "made" / "on" / "demand" / "pipelines";
    const PhysicalDevice device = some_device();
    const auto data = driver_data(device);
    REQUIRE(write_pipeline_cache(file, data));
    CHECK((read_pipeline_cache(file, device) == data));

    PhysicalDevice other = device;
    other.info.vendor_id = 1;
    CHECK(read_pipeline_cache(file, other).empty());
    other = device;
    other.info.device_id = 1;
    CHECK(read_pipeline_cache(file, other).empty());
    other = device;
    other.info.build[3] = 0;
    CHECK(read_pipeline_cache(file, other).empty());
}

TEST_CASE("pipeline cache: a file with any byte changed, cut short or grown is ignored") {
    const TemporaryFolder folder;
    const auto file = folder.path() / "pipelines";
    const PhysicalDevice device = some_device();
    REQUIRE(write_pipeline_cache(file, driver_data(device)));
    const std::string sound = test::read_bytes(file);
    size_t accepted = 0;
    const auto try_file = [&](const std::string &bytes) {
        test::write_bytes(file, bytes);
        accepted += read_pipeline_cache(file, device).empty() ? 0 : 1;
    };
    for (size_t i = 0; i < sound.size(); ++i) {
        std::string damaged = sound;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        try_file(damaged);
        try_file(sound.substr(0, i));
    }
    try_file(sound + "x");
    CHECK(accepted == 0);
    try_file(sound);
    CHECK(accepted == 1);
}

TEST_CASE("pipeline cache: a missing file, a folder in its place or an unwritable folder is not an error") {
    const TemporaryFolder folder;
    const PhysicalDevice device = some_device();
    CHECK(read_pipeline_cache(folder.path() / "absent", device).empty());
    CHECK(read_pipeline_cache(folder.path(), device).empty());
    test::write_bytes(folder.path() / "file", "x");
    CHECK_FALSE(write_pipeline_cache(folder.path() / "file" / "pipelines", driver_data(device)));
}

TEST_CASE("pipeline cache: a damaged file is survived and replaced on every device") {
    const auto instance = test::validated_instance();
    if (instance == nullptr) return;
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const abi::Layer &layer = plugins->layer("layer_norm");
    const plan::Kernels kernels(layer);
    for (const uint32_t index : test::usable_devices(*instance)) {
        CAPTURE(instance->devices()[index].name);
        const TemporaryFolder folder;
        const auto file = folder.path() / "pipelines";
        const auto device = std::make_shared<LogicalDevice>(instance, instance->physical_devices()[index]);
        const auto build = [&](uint32_t dtype) {
            Pipelines pipelines(device, file);
            const PipelineRequest request{&layer.contract->kernels[0], &kernels[0], {{0, dtype}, {1, 0}}, "test"};
            const std::vector<PipelineRequest> twice{request, request};
            const std::vector<Pipeline> built = pipelines.build(twice);
            CHECK(built.at(0).pipeline != VK_NULL_HANDLE);
            CHECK(built.at(0).pipeline == built.at(1).pipeline);
        };
        build(1);
        const std::string sound = test::read_bytes(file);
        CHECK_FALSE(read_pipeline_cache(file, device->physical()).empty());
        std::string damaged = sound;
        for (size_t i = 0; i < damaged.size(); i += 7) damaged[i] = static_cast<char>(~damaged[i]);
        for (const std::string &bytes : {damaged, sound.substr(0, sound.size() / 2), std::string("nonsense")}) {
            test::write_bytes(file, bytes);
            build(2);
            CHECK_FALSE(read_pipeline_cache(file, device->physical()).empty());
        }
    }
    CHECK(test::messages_of(*instance) == "");
}
