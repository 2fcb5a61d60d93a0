// A device that is lost, or never answers: the error says what was running.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "small_model.hpp"

#include <algorithm>

using namespace lamina;

TEST_CASE("lost device: in any submission or wait, the error says what was running") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    test::give_own_memory(*faults);
    const auto instance = test::validated_instance();
    const test::SmallModel model;
    const auto run = [&] {
        const auto device = instance->open(0, model.plugins);
        (void)model.run_on(*device->backend(model.model->weights));
    };
    for (const char *function : {"vkQueueSubmit", "vkWaitForFences"}) {
        const uint64_t all = test::calls_of(*faults, function, run);
        REQUIRE(all >= 4);
        for (uint64_t n = 1; n <= all; ++n) {
            test::fail(*faults, function, n, VK_ERROR_DEVICE_LOST);
            const test::Thrown thrown = test::thrown_by(run);
            INFO(function << " " << n << " of " << all);
            CHECK(thrown.is(ErrorCode::device_lost));
            // All but the last are copies of what the program needs.
            const char *const work = n < all ? "a copy" : "steps 'embedding' to 'norm' of graph 'main'";
            CHECK_THAT(thrown.message, matchers::contains(work));
            CHECK_THAT(thrown.message, matchers::contains("device "));
            CHECK(test::leaked(*faults) == "");
        }
    }
    CHECK(test::messages_after_loss(*instance) == "");
}

TEST_CASE("lost device: it stays lost, while another open device keeps working") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const auto instance = test::validated_instance();
    const test::SmallModel model;
    const auto first = instance->open(0, model.plugins)->backend(model.model->weights);
    test::fail(*faults, "vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    CHECK(test::thrown_by([&] { (void)model.run_on(*first); }).is(ErrorCode::device_lost));
    CHECK(test::thrown_by([&] { (void)model.run_on(*first); }).is(ErrorCode::device_lost));
    const auto second = instance->open(0, model.plugins)->backend(model.model->weights);
    CHECK(model.is_right(model.run_on(*second)));
    CHECK(test::messages_after_loss(*instance) == "");
}

TEST_CASE("lost device: waiting for work that never finishes ends after a bounded time") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    // Without validation layers: destroying objects that a device still uses breaks Vulkan's rules, but there is no
    // other way here.
    std::string why_not;
    const auto instance = vulkan::Instance::create({}, why_not);
    REQUIRE(instance != nullptr);
    const test::SmallModel model;
    const auto backend = instance->open(0, model.plugins)->backend(model.model->weights);
    (void)model.run_on(*backend);
    faults->fences_hang = true;
    const test::Thrown thrown = test::thrown_by([&] { (void)model.run_on(*backend); });
    faults->fences_hang = false;
    CHECK(thrown.is(ErrorCode::device_lost));
    CHECK_THAT(thrown.message, matchers::contains("did not finish "));
    CHECK_THAT(thrown.message, matchers::contains("within 600 seconds"));
}

TEST_CASE("lost device: a submission that fails waits for those before it") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const auto instance = test::validated_instance();
    // Two steps with so much memory that each is a separate submission.
    const auto small = test::SmallModel();
    const auto model = model::Model::parse(R"({"format": "lamina/1", "name": "wide", "graphs": {"main": {
        "inputs": {"x": {"dtype": "f32", "dims": "N"}, "other": {"dtype": "f32", "dims": "N"}},
        "layers": [{"name": "first", "type": "dropout", "inputs": {"x": "x", "residual": "other"}},
                   {"name": "second", "type": "dropout", "inputs": {"residual": "other"}}],
        "outputs": {"y": "second"}}}})",
                                           {}, {}, "wide");
    const TensorType wide{DType::f32, {4'000'000}};
    const plan::GraphShapes shapes{{{"x", wide}, {"other", wide}}, 0};
    const auto backend = instance->open(0, small.plugins)->backend({});
    const auto program =
        backend->compile(plan::plan_graph(*model, model->graphs.at("main"), *small.plugins, shapes), {});
    Tensor ones(wide), sum(wide);
    for (float &v : ones.f32()) v = 1;
    for (const char *name : {"x", "other"}) program->write(program->plan().inputs.at(name), ones.bytes());
    REQUIRE(test::calls_of(*faults, "vkQueueSubmit", [&] { program->run(); }) == 2);

    test::fail(*faults, "vkQueueSubmit", 2, VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(test::thrown_by([&] { program->run(); }).is(ErrorCode::memory));
    program->run(); // the first submission has ended, or the layers would report it
    program->read(program->plan().outputs.at("y"), sum.bytes());
    CHECK(std::all_of(sum.f32().begin(), sum.f32().end(), [](float v) { return v == 3; }));
    CHECK(test::messages_of(*instance) == "");
}
