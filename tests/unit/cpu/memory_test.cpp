// What does not fit into memory is refused before it is allocated: a system may grant it all the same, and then end the
// process that uses it.
#include "catch.hpp"
#include "cpu/backend.hpp"

using namespace lamina;

TEST_CASE("cpu: a graph that needs more than is free says what it needs, what is free, and what to do") {
    plan::GraphPlan plan{.graph = "test", .tensors = {}, .steps = {}, .inputs = {{"x", 0}}, .outputs = {}};
    plan.tensors.push_back({"x", {DType::f32, {int64_t{1} << 48}}, plan::PlannedTensor::Kind::input, false});
    const auto message = message_of([&] { (void)cpu::make_backend(nullptr, {}, nullptr)->compile(plan, {}); });
    for (const char *part : {"graph 'test' needs 1.0 PiB on cpu", " are free. Biggest: 'x' (1", "Use smaller batches"})
        CHECK_THAT(message, matchers::contains(part));
}
