// What a call costs at least, by the contracts of the built-in layers.
#include "plan/cost.hpp"

#include "catch.hpp"
#include "places.hpp"

using namespace lamina;

namespace {

abi::LayerCall call_of(const char *id, const abi::CallTypes &types, const abi::Params &params = {}) {
    static const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return abi::LayerCall(registry->layer(id), params, types, "layer 's'");
}

} // namespace

TEST_CASE("a product takes two operations for each value of the matrix in each row, and every tensor counts once") {
    const Cost cost =
        plan::cost_of(call_of("linear", {{{"x", {DType::f32, {2, 3, 64}}}}, {{"weight", {DType::f16, {5, 64}}}}, {}}));
    CHECK(cost.operations == 2 * 6 * 64 * 5);
    CHECK(cost.bytes == 6 * 64 * 4 + 5 * 64 * 2 + 6 * 5 * 4);
}

TEST_CASE("the work of an optional weight counts if the weight is given") {
    abi::CallTypes types{{{"x", {DType::f32, {4, 8}}}},
                         {{"up_weight", {DType::f32, {16, 8}}}, {"down_weight", {DType::f32, {8, 16}}}},
                         {}};
    CHECK(plan::cost_of(call_of("feed_forward", types)).operations == 4 * 2 * (2 * 8 * 16));
    types.weight["gate_weight"] = {DType::f32, {16, 8}};
    CHECK(plan::cost_of(call_of("feed_forward", types)).operations == 4 * 3 * (2 * 8 * 16));
}

TEST_CASE("attention multiplies every query with every key and value; a cache takes the place of the call's keys") {
    abi::CallTypes types{{{"q", {DType::f32, {1, 3, 32}}}, {"k", {DType::f32, {1, 3, 32}}}}, {}, {}};
    const abi::Params heads{{"heads", 4.0}};
    const Cost whole = plan::cost_of(call_of("attention", types, heads));
    CHECK(whole.operations == 4 * 3 * 3 * 32);
    CHECK(whole.bytes == 3 * (3 * 32 * 4)); // the keys are the values, too
    types.in["v"] = types.in["k"];
    CHECK(plan::cost_of(call_of("attention", types, heads)).bytes == 4 * (3 * 32 * 4));
    types.in["position"] = {DType::i32, {1}};
    types.state["key_cache"] = types.state["value_cache"] = {DType::f32, {1, 100, 32}};
    const abi::LayerCall cached = call_of("attention", types, heads);
    CHECK(plan::cost_of(cached).operations == 4 * 3 * 100 * 32);
    CHECK(plan::cost_of(cached).bytes == 4 * (3 * 32 * 4) + 4 + 2 * (100 * 32 * 4));
    CHECK(plan::cost_without_states(cached).operations == 0);
    CHECK(plan::cost_without_states(cached).bytes == 4 * (3 * 32 * 4) + 4);
}

TEST_CASE("of a table, only the rows that are looked up count") {
    const Cost cost = plan::cost_of(
        call_of("embedding", {{{"ids", {DType::i32, {1, 3}}}}, {{"table", {DType::f32, {1000, 8}}}}, {}}));
    CHECK(cost.operations == 0);
    CHECK(cost.bytes == 3 * 4 + 3 * 8 * 4 + 3 * 8 * 4);
}
