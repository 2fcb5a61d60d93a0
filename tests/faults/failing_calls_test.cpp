// Calls that fail at any point: everything that was created is destroyed, and the error says what is wrong.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "small_model.hpp"

using namespace lamina;

namespace {

// Opens the device, runs the model, closes the device.
Tensor run_on_device(vulkan::Instance &instance, const test::SmallModel &model) {
    const auto device = instance.open(0, model.plugins);
    return model.run_on(*device->backend(model.model->weights));
}

} // namespace

TEST_CASE("faults: without injected faults, the faulty driver works") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    {
        const auto instance = test::validated_instance();
        const test::SmallModel model;
        CHECK(model.is_right(run_on_device(*instance, model)));
        CHECK(test::messages_of(*instance) == "");
    }
    CHECK(faults->alive.at("vkAllocateMemory") == 0); // it was counted
    CHECK(test::leaked(*faults) == "");
}

TEST_CASE("faults: if any allocation fails, the error gives the memory needed and available, and nothing leaks") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    test::give_own_memory(*faults);
    const auto instance = test::validated_instance();
    const test::SmallModel model;
    const uint64_t all = test::calls_of(*faults, "vkAllocateMemory", [&] { (void)run_on_device(*instance, model); });
    REQUIRE(all > 5);
    for (const VkResult answer : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_TOO_MANY_OBJECTS})
        for (uint64_t n = 1; n <= all; ++n) {
            test::fail(*faults, "vkAllocateMemory", n, answer);
            const test::Thrown thrown = test::thrown_by([&] { (void)run_on_device(*instance, model); });
            INFO("allocation " << n << " of " << all << ": " << thrown.message);
            CHECK(thrown.is(ErrorCode::memory));
            CHECK_THAT(thrown.message, matchers::contains("could not be allocated on"));
            CHECK_THAT(thrown.message, matchers::contains(" are free"));
            CHECK(test::leaked(*faults) == "");
        }
    test::heal(*faults);
    CHECK(model.is_right(run_on_device(*instance, model)));
    CHECK(test::messages_of(*instance) == "");
}

TEST_CASE("faults: with memory in several blocks, the error of each gives the total") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->max_allocation_bytes = 4096; // less than Vulkan requires, which the layers would report
    std::string why_not;
    const auto instance = vulkan::Instance::create({}, why_not);
    REQUIRE(instance != nullptr);
    const test::SmallModel model;
    const uint64_t all = test::calls_of(*faults, "vkAllocateMemory", [&] { (void)run_on_device(*instance, model); });
    size_t blocks_of_weights = 0;
    for (uint64_t n = 1; n <= all; ++n) {
        test::fail(*faults, "vkAllocateMemory", n, VK_ERROR_OUT_OF_DEVICE_MEMORY);
        const test::Thrown thrown = test::thrown_by([&] { (void)run_on_device(*instance, model); });
        CHECK(thrown.is(ErrorCode::memory));
        if (thrown.message.find("the weights need 4.") == 0) ++blocks_of_weights;
        CHECK(test::leaked(*faults) == "");
    }
    CHECK(blocks_of_weights == 2);
}

TEST_CASE("faults: a device may be used again after an allocation has failed") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const auto instance = test::validated_instance();
    const test::SmallModel model;
    const auto device = instance->open(0, model.plugins);
    const auto backend = device->backend(model.model->weights);
    const uint64_t all = test::calls_of(*faults, "vkAllocateMemory", [&] { (void)model.run_on(*backend); });
    for (uint64_t n = 1; n <= all; ++n) {
        const auto fresh = device->backend(model.model->weights);
        test::fail(*faults, "vkAllocateMemory", n, VK_ERROR_OUT_OF_DEVICE_MEMORY);
        CHECK(test::thrown_by([&] { (void)model.run_on(*fresh); }).is(ErrorCode::memory));
        CHECK(model.is_right(model.run_on(*fresh)));
    }
    CHECK(test::messages_of(*instance) == "");
}

TEST_CASE("faults: if any Vulkan call fails, it is an error, and nothing leaks") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const auto instance = test::validated_instance();
    const test::SmallModel model;
    const uint64_t all = test::calls_of(*faults, "", [&] { (void)run_on_device(*instance, model); });
    REQUIRE(all > 50);
    for (uint64_t n = 1; n <= all; ++n) {
        test::fail(*faults, "", n, VK_ERROR_OUT_OF_HOST_MEMORY);
        const test::Thrown thrown = test::thrown_by([&] { (void)run_on_device(*instance, model); });
        INFO("call " << n << " of " << all << ": " << thrown.message);
        // The first call opens the device; its error is not tested here.
        CHECK(thrown.is(n == 1 ? ErrorCode::no_device : ErrorCode::memory));
        CHECK(test::leaked(*faults) == "");
    }
    CHECK(test::messages_of(*instance) == "");
}

TEST_CASE("faults: a pipeline that the driver refuses is named by layer and kernel") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const auto instance = test::validated_instance();
    const test::SmallModel model;
    const uint64_t all =
        test::calls_of(*faults, "vkCreateComputePipelines", [&] { (void)run_on_device(*instance, model); });
    REQUIRE(all >= 4);
    for (uint64_t n = 1; n <= all; ++n) {
        test::fail(*faults, "vkCreateComputePipelines", n, VK_ERROR_UNKNOWN);
        const test::Thrown thrown = test::thrown_by([&] { (void)run_on_device(*instance, model); });
        CHECK(thrown.is(ErrorCode::failure));
        CHECK_THAT(thrown.message, matchers::contains("layer '"));
        CHECK_THAT(thrown.message, matchers::contains("kernel '"));
        CHECK_THAT(thrown.message, matchers::contains("building its pipeline on "));
        CHECK_THAT(thrown.message, matchers::contains("VK_ERROR_UNKNOWN"));
        CHECK(test::leaked(*faults) == "");
    }
    CHECK(test::messages_of(*instance) == "");
}
