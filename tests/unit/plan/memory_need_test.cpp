// Whether a program fits: what it needs, and what is said if there is less.
#include "catch.hpp"
#include "plan/graph_plan.hpp"
#include "plan/memory_need.hpp"

using namespace lamina;
using namespace lamina::plan;
using Kind = PlannedTensor::Kind;

namespace {

MemoryNeed need(uint64_t free) {
    MemoryNeed out;
    out.weights = {{"small", 1u << 20}, {"large", 5u << 20}};
    out.states = {{"keys", 2u << 20}};
    out.others = {{"activations", 1u << 20}};
    out.free = free;
    return out;
}

} // namespace

TEST_CASE("memory need: weights, states and the rest of a plan, each tensor once") {
    GraphPlan plan;
    plan.tensors = {{"x", {DType::f32, {3}}, Kind::input, false},
                    {"w", {DType::f16, {100}}, Kind::weight, false},
                    {"y", {DType::f32, {1000}}, Kind::activation, true},
                    {"cache", {DType::f32, {2, 4}}, Kind::state, false}};
    const MemoryNeed found = need_of(plan);
    REQUIRE(found.weights.size() == 1);
    CHECK(found.weights[0].name == "w");
    CHECK(found.weights[0].bytes == 208); // padded to 16
    CHECK(total_bytes(found.states) == 32);
    CHECK(total_bytes(found.others) == 16 + 4000);
    CHECK_FALSE(found.free);
}

TEST_CASE("memory need: what does not fit is refused with what is needed, what is free and what to do") {
    CHECK_NOTHROW(expect_room(need(9u << 20), "it", "here", ""));
    MemoryNeed unknown = need(0);
    unknown.free.reset();
    CHECK_NOTHROW(expect_room(unknown, "it", "here", ""));
    CHECK(message_of([] { expect_room(need((9u << 20) - 1), "decoding", "vulkan:0", "Take less."); }) ==
          "decoding needs 9.0 MiB on vulkan:0 (weights 6.0 MiB, caches 2.0 MiB, the rest 1.0 MiB); 9.0 MiB are free. "
          "Biggest: 'large' (5.0 MiB), 'keys' (2.0 MiB), 'small' (1.0 MiB). Take less.");
    MemoryNeed absurd = need(9u << 20);
    absurd.states.push_back({"absurd", UINT64_MAX});
    CHECK_THAT(message_of([&] { expect_room(absurd, "it", "here", ""); }), matchers::contains("'absurd'"));
}
