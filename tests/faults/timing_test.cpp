// How layers are timed on a device without timestamps.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "places.hpp"
#include "small_model.hpp"

#include "vulkan/device.hpp"

using namespace lamina;

namespace {

// The times of a run on the device as it is now.
plan::RunTimes times_of(const test::SmallModel &model) {
    const auto instance = test::validated_instance();
    const auto backend = instance->open(0, model.plugins)->backend(model.model->weights);
    plan::RunTimes out;
    plan::ProgramOptions options;
    options.timed = [&](const plan::Program &, const plan::RunTimes &times) { out = times; };
    CHECK(model.is_right(model.run_on(*backend, options)));
    CHECK(test::messages_of(*instance) == "");
    return out;
}

} // namespace

TEST_CASE("timing: without timestamps the host times every dispatch, and the results are the same") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const test::SmallModel model;
    const plan::RunTimes by_device = times_of(model);
    faults->timestamps = false;
    const plan::RunTimes by_host = times_of(model);
    faults->timestamps = true;
    CHECK(by_device.device_clock);
    CHECK(!by_host.device_clock);
    REQUIRE(by_host.dispatches.size() == by_device.dispatches.size());
    double end = 0;
    for (size_t i = 0; i < by_host.dispatches.size(); ++i) {
        CHECK(by_host.dispatches[i].kernel == by_device.dispatches[i].kernel);
        CHECK(by_host.dispatches[i].seconds > 0);
        CHECK(by_host.dispatches[i].begin >= end);
        end = by_host.dispatches[i].begin + by_host.dispatches[i].seconds;
    }
    CHECK(end <= by_host.seconds);
}
