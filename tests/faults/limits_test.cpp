// Devices with smaller limits than lavapipe: they are refused with all reasons, or compute the same results. The
// validation layers check that Lamina keeps the smaller limits.
#include "../conformance/drivers.hpp"
#include "catch.hpp"
#include "conformance/check.hpp"
#include "faulty_driver.hpp"
#include "letters.hpp"
#include "places.hpp"

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>

#include <algorithm>

using namespace lamina;
using Status = CaseResult::Status;

namespace {

vulkan::DeviceInfo described(test::Faults &faults, void (*change)(VkPhysicalDeviceProperties &)) {
    faults.change = change;
    return test::validated_instance()->devices().front();
}

// Refusals of shapes, weights and devices that a variant does not support, whatever the limits.
const std::vector<std::string> not_made_for{"fewer than 8 queries",
                                            "8 or more query rows a key head",
                                            "it is for software drivers",
                                            "it takes head dims up to 128",
                                            "more than 8 rows",
                                            "at most 8 rows",
                                            "it takes few tokens",
                                            "steps; expected at most 16",
                                            "steps; expected at least 16",
                                            "each row of a state fades at a rate of its own",
                                            "channels; expected at most 128",
                                            "the baseline is one dispatch, too",
                                            "it takes more than 64 rows and columns",
                                            "K is too short to be split",
                                            "only q8_0 can be packed",
                                            "needs features that the device lacks",
                                            "the device has no cooperative matrices of f16"};

bool says_one_of(const std::string &text, const std::vector<std::string> &words) {
    return std::ranges::any_of(words, [&](const std::string &w) { return text.find(w) != std::string::npos; });
}

// Runs every variant of these layers on their own cases, on the device with its current limits. Returns how many
// passed; a failure must be a refusal with one of these words.
size_t check_layers(const std::vector<std::string> &layers, const std::vector<std::string> &refusals) {
    const auto instance = test::validated_instance();
    REQUIRE(instance->devices().front().unusable.empty());
    const auto plugins = test::plugins();
    const auto device = instance->open(0, plugins);
    CheckOptions options;
    options.layers = layers;
    options.own_cases_only = true;
    const CheckReport report = conformance::check(*device, options);
    for (const CaseResult &r : report.results) {
        if (r.status == Status::passed) continue;
        if (r.status == Status::skipped && says_one_of(r.why, not_made_for)) continue;
        INFO(r.replay << ": " << r.why);
        CHECK(says_one_of(r.why, refusals));
    }
    CHECK(test::messages_of(*instance) == "");
    return report.count(Status::passed);
}

const std::vector<std::string> too_wide{"this device binds at most", "the device's binding limit of 65536"};

} // namespace

TEST_CASE("limits: a device below the baseline's limits is refused with the limit's name, its value and the minimum") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const auto reason = [&](void (*change)(VkPhysicalDeviceProperties &)) {
        const auto info = described(*faults, change);
        REQUIRE(info.unusable.size() == 1);
        return info.unusable.front();
    };
    CHECK(reason([](auto &p) { p.limits.maxComputeWorkGroupInvocations = 128; }) ==
          "maxComputeWorkGroupInvocations is 128; at least 256 is needed");
    CHECK(reason([](auto &p) { p.limits.maxComputeWorkGroupSize[0] = 128; }) ==
          "maxComputeWorkGroupSize[0] is 128; at least 256 is needed");
    CHECK(reason([](auto &p) { p.limits.maxComputeSharedMemorySize = 8192; }) ==
          "maxComputeSharedMemorySize is 8192; at least 16384 is needed");
    CHECK(reason([](auto &p) { p.limits.maxPushConstantsSize = 64; }) ==
          "maxPushConstantsSize is 64; at least 128 is needed");
    CHECK(reason([](auto &p) { p.limits.maxPerStageDescriptorStorageBuffers = 4; }) ==
          "maxPerStageDescriptorStorageBuffers is 4; at least 8 is needed");
    CHECK(reason([](auto &p) { p.apiVersion = VK_API_VERSION_1_0; }) ==
          "it supports Vulkan 1.0.0; at least 1.1 is needed");
    faults->computes = false;
    CHECK(reason(nullptr) == "it has no compute queue");
}

TEST_CASE("limits: a device that lacks several things is refused with all reasons, and never selected") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->computes = false;
    faults->change = [](VkPhysicalDeviceProperties &p) {
        p.limits.maxComputeSharedMemorySize = 1;
        p.limits.maxPushConstantsSize = 2;
    };
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    const Runtime runtime(options);
    CHECK(runtime.device("auto").id == "cpu");
    const test::Thrown thrown = test::thrown_by([&] { (void)runtime.device("vulkan:0"); });
    CHECK(thrown.is(ErrorCode::no_device));
    for (const char *what : {"no compute queue", "maxComputeSharedMemorySize is 1", "maxPushConstantsSize is 2"})
        CHECK_THAT(thrown.message, matchers::contains(what));
}

TEST_CASE("limits: the minimum limits are enough for every layer") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->change = [](VkPhysicalDeviceProperties &p) {
        p.limits.maxComputeWorkGroupInvocations = 256;
        p.limits.maxComputeWorkGroupSize[0] = p.limits.maxComputeWorkGroupSize[1] = 256;
        p.limits.maxComputeWorkGroupSize[2] = 64;
        p.limits.maxComputeSharedMemorySize = 16384;
        p.limits.maxPushConstantsSize = 128;
        p.limits.maxPerStageDescriptorStorageBuffers = 8;
        p.limits.maxStorageBufferRange = 1u << 27;
        p.limits.minStorageBufferOffsetAlignment = 256;
        for (uint32_t &n : p.limits.maxComputeWorkGroupCount) n = 65535;
    };
    // Only a faster variant may need more.
    const std::vector<std::string> wants_more{"invocations", "shared memory", "takes at most"};
    CHECK(check_layers({}, wants_more) > 100);
}

TEST_CASE("limits: with bindings of at most 64 KiB, weights are split into windows, or the error says what to do") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->change = [](VkPhysicalDeviceProperties &p) {
        p.limits.maxStorageBufferRange = 65536;
        p.limits.minStorageBufferOffsetAlignment = 256;
    };
    CHECK(check_layers({"linear", "embedding", "attention", "feed_forward", "layer_norm"}, too_wide) > 50);
}

TEST_CASE("limits: few workgroups a dispatch are enough, or are refused with the limit") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->change = [](VkPhysicalDeviceProperties &p) {
        for (uint32_t &n : p.limits.maxComputeWorkGroupCount) n = 16;
    };
    CHECK(check_layers({"linear", "embedding", "attention", "feed_forward", "layer_norm"}, {"workgroups"}) > 10);
}

TEST_CASE("limits: weights in several windows give the same results as in one") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->change = [](VkPhysicalDeviceProperties &p) { p.limits.maxStorageBufferRange = 65536; };
    const auto instance = test::validated_instance();
    const auto plugins = test::plugins();
    const auto device = instance->open(0, plugins);
    const auto passes = [&](const char *layer, const char *text) {
        CheckOptions options;
        options.layers = {layer};
        options.case_text = text;
        const CheckReport report = conformance::check(*device, options);
        CHECK(report.count(Status::passed) > 0);
        for (const CaseResult &r : report.results) {
            INFO(r.replay << ": " << r.why);
            CHECK(r.status != Status::failed);
        }
    };
    passes("linear", "B=1 T=3 K=100 N=700 +bias");             // 273 KiB of weights
    passes("linear", "B=1 T=3 K=101 N=701 +bias weights=f16"); // rows that end between words
    passes("embedding", "B=2 T=30 V=3000 C=20");               // 234 KiB
    passes("embedding", "B=2 T=30 V=3001 C=21 weights=f16");
    CHECK(test::messages_of(*instance) == "");
}

TEST_CASE(
    "limits: a model with matrices beyond one binding writes the same text; caches beyond it are refused by name") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->change = [](VkPhysicalDeviceProperties &p) {
        p.limits.maxStorageBufferRange = 1u << 17;
        p.limits.minStorageBufferOffsetAlignment = 256;
    };
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    const Runtime runtime(options);
    const Model g2p = runtime.load(LAMINA_SOURCE_DIR "/models/g2p"); // its largest matrices have 200 KiB
    Session session = runtime.session(g2p, runtime.device("vulkan:0"));
    CHECK(session.generate({"vulkan"}) == runtime.session(g2p, runtime.device("cpu")).generate({"vulkan"}));

    // A token takes 64 bytes of a cache in f32, 32 in f16.
    SessionOptions half;
    half.cache = DType::f16;
    const Model model = runtime.load(test::letters());
    const auto write = [&](size_t tokens, const SessionOptions &how) {
        Session letters = runtime.session(model, runtime.device("vulkan:0"), how);
        (void)letters.generate({std::string(tokens, 'b')});
    };
    write(500, {});
    write(2500, half);
    test::Thrown thrown;
    CHECK(test::calls_of(*faults, "vkAllocateMemory", [&] { thrown = test::thrown_by([&] { write(2500, {}); }); }) < 3);
    INFO(thrown.message);
    CHECK(thrown.is(ErrorCode::memory));
    for (const char *part : {"decoding a text of up to 2502 tokens", "key_cache' of 156 KiB",
                             "can bind at most 128 KiB", "--cache f16", "--device vulkan:0,cpu"})
        CHECK_THAT(thrown.message, matchers::contains(part));
    // The caches of all texts are one tensor.
    const BatchRoom room = room_for(runtime.session(model, runtime.device("vulkan:0")), {.slots = 4, .length = 2000});
    CHECK(room.slots == 1);
    CHECK(room.length == 2000);
}

TEST_CASE("limits: the error says if one allocation cannot hold the weights") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->max_allocation_bytes = 1u << 20;
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    const Runtime runtime(options);
    const Model g2p = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    Session session = runtime.session(g2p, runtime.device("vulkan:0"));
    CHECK(session.generate({"vulkan"}) == runtime.session(g2p, runtime.device("cpu")).generate({"vulkan"}));

    faults->max_allocation_bytes = 1u << 16;
    Session tight = Runtime(options).session(g2p, Runtime(options).device("vulkan:0"));
    const test::Thrown thrown = test::thrown_by([&] { (void)tight.generate({"vulkan"}); });
    CHECK(thrown.message != "");
    CHECK((thrown.is(ErrorCode::memory) || thrown.is(ErrorCode::no_device)));
    INFO(thrown.message);
    CHECK_THAT(thrown.message, matchers::contains("at most"));
}
