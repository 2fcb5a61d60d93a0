// Device memory: requests that do not fit are refused before anything is allocated, and uploads arrive bit for bit.
#include "drivers.hpp"
#include "temporary_folder.hpp"

#include "base/mapped_file.hpp"
#include "base/peak_memory.hpp"
#include "vulkan/commands.hpp"
#include "vulkan/residents.hpp"

#include <algorithm>
#include <fstream>
#include <functional>

using namespace lamina;
using namespace lamina::vulkan;

namespace {

// Runs `body` on every usable device, as it is and as if it had memory of its own, and expects no validation messages.
void on_every_device(const std::function<void(const std::shared_ptr<LogicalDevice> &)> &body) {
    const auto instance = test::validated_instance();
    if (instance == nullptr) return;
    for (const uint32_t index : test::usable_devices(*instance)) {
        CAPTURE(instance->devices()[index].name);
        PhysicalDevice physical = instance->physical_devices()[index];
        body(std::make_shared<LogicalDevice>(instance, physical));
        if (!physical.shares_memory()) continue;
        physical.info.kind = DeviceInfo::Kind::discrete;
        body(std::make_shared<LogicalDevice>(instance, physical));
    }
    CHECK(test::messages_of(*instance) == "");
}

std::vector<std::byte> pattern(size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 2654435761u) >> 13);
    return data;
}

std::vector<std::byte> read(const std::shared_ptr<LogicalDevice> &device, const Region &region) {
    const Buffer staging(device, region.bytes, Buffer::Place::staging);
    CommandPool(device).run_once([&](VkCommandBuffer commands) {
        copy(*device, commands, *region.buffer, region.offset, staging, 0, region.bytes);
        place(*device, commands, before_host);
    });
    const auto mapped = staging.mapped().first(region.bytes);
    return {mapped.begin(), mapped.end()};
}

} // namespace

TEST_CASE("memory: exceeding the device is an error with the memory needed and available and the biggest tensors") {
    on_every_device([](const auto &device) {
        std::vector<MemoryRequest> requests{{"'small'", 1024}};
        for (uint64_t bytes = 0; bytes < 2 * device->info().memory_bytes; bytes += 1u << 28)
            requests.push_back({"'block'", 1u << 28});
        const auto attempt = [&] { (void)allocate(device, requests, "the weights"); };
        const std::string message = message_of(attempt);
        CHECK_THAT(message, matchers::contains("the weights need"));
        CHECK_THAT(message, matchers::contains("are free"));
        CHECK_THAT(message, matchers::contains("Biggest: 'block'"));
        try {
            attempt();
        } catch (const Error &e) {
            CHECK(e.code() == ErrorCode::memory);
        }
    });
}

TEST_CASE("memory: a tensor beyond one allocation is refused, however absurd its size") {
    on_every_device([](const auto &device) {
        for (const uint64_t bytes : {device->physical().max_allocation_bytes + 1, UINT64_MAX}) {
            const std::vector<MemoryRequest> requests{{"'vast'", bytes}, {"'also'", bytes}};
            CHECK_THAT(message_of([&] { (void)allocate(device, requests, "the weights"); }),
                       matchers::contains("'vast'"));
        }
    });
}

TEST_CASE("memory: regions are aligned, padded and do not overlap") {
    on_every_device([](const auto &device) {
        const std::vector<MemoryRequest> requests{{"a", 1}, {"b", 0}, {"c", 1000}, {"d", 300ull << 20}, {"e", 16}};
        const std::vector<Region> regions = allocate(device, requests, "the weights");
        REQUIRE(regions.size() == requests.size());
        for (size_t i = 0; i < regions.size(); ++i) {
            CHECK(regions[i].offset % 256 == 0);
            CHECK(regions[i].bytes >= std::max<uint64_t>(requests[i].bytes, 16));
            CHECK(regions[i].bytes % 16 == 0);
            CHECK(regions[i].offset + regions[i].bytes <= regions[i].buffer->bytes());
            for (size_t j = 0; j < i; ++j)
                if (regions[i].buffer == regions[j].buffer)
                    CHECK(regions[i].offset >= regions[j].offset + regions[j].bytes);
        }
        CHECK(regions[0].buffer == regions[2].buffer);
        CHECK(regions[0].buffer != regions[3].buffer);
    });
}

TEST_CASE("memory: an upload of any size arrives bit for bit, with zeros in its padding") {
    on_every_device([](const auto &device) {
        // The middle one spans several staging buffers, and the others share theirs with its ends.
        const std::vector<std::vector<std::byte>> data{pattern(17), pattern((70u << 20) + 3), pattern(0), pattern(32)};
        std::vector<MemoryRequest> requests;
        for (const auto &d : data) requests.push_back({"data", d.size()});
        const std::vector<Region> regions = allocate(device, requests, "the weights");
        std::vector<Upload> uploads;
        for (size_t i = 0; i < data.size(); ++i) uploads.push_back({data[i], regions[i]});
        upload(device, uploads);
        for (size_t i = 0; i < data.size(); ++i) {
            std::vector<std::byte> expected = data[i];
            expected.resize(regions[i].bytes);
            CHECK((read(device, regions[i]) == expected));
        }
    });
}

TEST_CASE("memory: weights are in memory once where the device shares it, and what was read of their file leaves it") {
    const TemporaryFolder folder;
    const auto path = folder.path() / "weights";
    constexpr size_t bytes = 192u << 20, made = 16u << 20;
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(pattern(bytes).data()), bytes);
    on_every_device([&](const auto &device) {
        if (!device->physical().shares_memory()) return;
        const MappedFile file = MappedFile::open(path);
        model::Weights weights(path);
        const auto floats = [](size_t n) { return TensorType{DType::f32, {static_cast<int64_t>(n / sizeof(float))}}; };
        weights.add("stored", {floats(bytes - made), file.bytes.first(bytes - made), file.owner});
        const model::Weight part{floats(made), file.bytes.last(made), file.owner};
        weights.add("made", model::Weight::made_of(part.type, {part}, [part](std::span<std::byte> out) {
                        std::ranges::copy(part.bytes(), out.begin());
                    }));
        Residents residents(device, weights);
        const auto now = [] { // the test sees nothing where a system cannot reset it
            reset_peak_memory();
            return peak_memory();
        };
        const uint64_t before = now();
        const auto regions = residents.weights({"stored", "made"});
        const uint64_t most = peak_memory(), after = now();
        CHECK_FALSE(regions.at("stored").buffer->mapped().empty()); // no staging buffer is needed
        CHECK(std::ranges::equal(read(device, regions.at("stored")), file.bytes.first(bytes - made)));
        CHECK(after - before < bytes + (bytes >> 5));
        // With 32 MiB of the file at a time, or what is made and made of. Some drivers touch memory when it is
        // allocated.
        CHECK(most - before < bytes / 4 * 5 + (bytes >> 5));
    });
}

TEST_CASE("memory: the validation layers detect a missing barrier, so their silence means something") {
    const auto instance = test::validated_instance();
    if (instance == nullptr) return;
    const uint32_t index = test::usable_devices(*instance).at(0);
    const auto device = std::make_shared<LogicalDevice>(instance, instance->physical_devices()[index]);
    const std::vector<MemoryRequest> requests{{"a", 64}, {"b", 64}};
    const std::vector<Region> regions = allocate(device, requests, "two buffers");
    CommandPool(device).run_once([&](VkCommandBuffer commands) {
        fill(*device, commands, regions[0], 1);
        copy(*device, commands, *regions[0].buffer, regions[0].offset, *regions[1].buffer, regions[1].offset, 64);
    });
    CHECK_THAT(test::messages_of(*instance),
               matchers::contains("READ-AFTER-WRITE") || matchers::contains("READ_AFTER_WRITE"));
}
