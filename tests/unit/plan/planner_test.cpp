// A planner keeps what it finds about the layers of its plugins, and of no others.
#include "catch.hpp"
#include "places.hpp"
#include "plan/device.hpp"

#include <algorithm>

using namespace lamina;

namespace {

lamina_device capabilities() {
    lamina_device device{};
    device.struct_size = sizeof device;
    device.max_binding_bytes = uint64_t{1} << 30;
    device.binding_align = 16;
    device.max_invocations = 1024;
    std::fill_n(device.max_local, 3, 1024);
    std::fill_n(device.max_groups, 3, 65535);
    device.shared_bytes = 32 * 1024;
    return device;
}

abi::LayerCall softmax(const abi::Layer &layer, int64_t columns) {
    return {layer, {}, abi::CallTypes{{{"x", {DType::f32, {3, columns}}}}, {}, {}}, "the test"};
}

} // namespace

TEST_CASE("planner: a plan is made once for a call, whatever the call is named, and again for other sizes") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    plan::Planner planner(plugins, capabilities());
    const abi::Layer &layer = plugins->layer("softmax");
    plan::Refusal refusal;
    const auto first = planner.plan(softmax(layer, 40), 0, refusal);
    REQUIRE(first != nullptr);
    CHECK(refusal.why.empty());
    CHECK(planner.plan({layer, {}, abi::CallTypes{{{"x", {DType::f32, {3, 40}}}}, {}, {}}, "another"}, 0, refusal) ==
          first);
    CHECK(planner.plan(softmax(layer, 41), 0, refusal) != first);
    CHECK(planner.kernels_of(layer) == planner.kernels_of(layer));
}

TEST_CASE("planner: why a variant does not compute a call is kept, too") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    plan::Planner planner(plugins, capabilities());
    const abi::Layer &layer = plugins->layer("softmax");
    for (int again = 0; again < 2; ++again) {
        plan::Refusal refusal;
        CHECK(planner.plan(softmax(layer, 40), 1, refusal) == nullptr);
        CHECK_THAT(refusal.why, matchers::contains("needs features that the device lacks"));
        CHECK(refusal.missing);
    }
}

TEST_CASE("planner: a layer of other plugins, which may be gone when the next one has its address, is planned anew") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR}),
               others = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    plan::Planner planner(plugins, capabilities());
    const abi::Layer &layer = others->layer("softmax");
    plan::Refusal refusal;
    const auto first = planner.plan(softmax(layer, 40), 0, refusal);
    CHECK(planner.plan(softmax(layer, 40), 0, refusal) != first);
    CHECK(planner.kernels_of(layer) != planner.kernels_of(layer));
}
