// Plugins of several minor versions of the ABI in one host. This program is built twice: as this host, and with the
// same code compiled against a made-up later plugin.h with additional fields.
#include "abi/call.hpp"
#include "abi/library.hpp"

#include "catch.hpp"

#include <algorithm>

using namespace lamina;

namespace {

#ifdef LAMINA_LATER_DTYPE
constexpr bool later_host = true;
#else
constexpr bool later_host = false;
#endif

const abi::Registry &plugins() {
    static const auto registry = abi::Registry::discover({ABI_PLUGINS});
    return *registry;
}

abi::LayerCall call_of(const char *id) {
    abi::CallTypes types;
    types.in["x"] = {DType::f32, {2, 3}};
    types.weight["bias"] = {DType::f32, {1}};
    return abi::LayerCall(plugins().layer(id), {{"factor", 3.0}}, types, "layer 's'");
}

void check_works(const char *id) {
    const abi::Layer &layer = plugins().layer(id);
    CHECK(layer.contract->prefix.struct_size == sizeof(lamina_layer));
    REQUIRE(layer.contract->n_variants == 2);
    CHECK(std::string(layer.contract->variants[1].name) == "again");
    CHECK(std::string(layer.contract->weights[1].name) == "other");
    CHECK(layer.contract->tolerances[1].rtol == 1e-3);
    CHECK(layer.contract->weights[0].dtypes == LAMINA_F32); // not what only the later header has
    if (std::string_view(id) == "frozen_1_0")
        CHECK(layer.contract->work == nullptr); // a field of 1.1
    else
        CHECK(layer.contract->work == std::string_view("1"));

    const abi::LayerCall call = call_of(id);
    std::array<float, 6> x{1, 2, 3, 4, 5, 6}, y{};
    float bias = 0.5;
    call.reference({{x.data(), nullptr}, {&bias, nullptr}, {y.data()}, {}});
    CHECK(y == std::array<float, 6>{3.5, 6.5, 9.5, 12.5, 15.5, 18.5});

    size_t dispatches = 0;
    abi::LayerCall::PlanSink sink;
    sink.dispatch = [&](const lamina_dispatch &d) {
        ++dispatches;
        CHECK(d.n_bind == 3);
        CHECK(d.groups[0] == 1);
    };
    lamina_device device{};
    device.struct_size = sizeof device;
    std::string why_not;
    CHECK(call.plan(0, device, sink, why_not));
    CHECK(dispatches == 1);
}

} // namespace

TEST_CASE("abi: a plugin built with the frozen header of an earlier version works") {
    check_works("frozen_1_0");
    check_works("frozen_1_1");
}

TEST_CASE("abi: a plugin of a later minor version works") { check_works("later"); }

TEST_CASE("abi: a plugin that needs a later minor version is refused by hosts that do not have it") {
    const auto refused = std::find_if(plugins().rejected().begin(), plugins().rejected().end(),
                                      [](const auto &r) { return r.path.stem() == "lamina_needs_later"; });
    if (later_host) {
        CHECK(refused == plugins().rejected().end());
        check_works("needs_later");
    } else {
        REQUIRE(refused != plugins().rejected().end());
        CHECK_THAT(refused->reason,
                   matchers::contains("it does not support plugin ABI 1." + std::to_string(LAMINA_ABI_MINOR)));
    }
}

#ifdef LAMINA_LATER_DTYPE
TEST_CASE("abi: fields that a 1.0 plugin lacks are zero in a later host, and a later plugin's fields are read") {
    CHECK(plugins().layer("frozen_1_0").contract->later == 0);
    CHECK(plugins().layer("frozen_1_0").contract->inputs[1].later == 0);
    CHECK(plugins().layer("later").contract->later == 11);
}
#endif

TEST_CASE("abi: fields keep their offsets and values of version 1.0") {
    // A change here would break every published plugin.
    CHECK(offsetof(lamina_layer, plan) == 200);
    CHECK(offsetof(lamina_port, dtypes) == 48);
    CHECK(offsetof(lamina_call, tensor_size) == 64);
    CHECK(LAMINA_Q8_0 == 16);
}
