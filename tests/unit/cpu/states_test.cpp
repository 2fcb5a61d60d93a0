// How long the states of programs in host memory live.
#include "catch.hpp"
#include "cpu/backend.hpp"

using namespace lamina;

TEST_CASE("cpu: a state outlives its programs until another size of it is asked for") {
    const auto backend = cpu::make_backend(nullptr, {}, nullptr);
    const auto with_cache = [&](int64_t n) { // a program that does nothing but keep it
        plan::GraphPlan plan{.graph = "test", .tensors = {}, .steps = {}, .inputs = {}, .outputs = {}};
        plan.tensors.push_back({"cache", {DType::f32, {n}}, plan::PlannedTensor::Kind::state, false});
        return backend->compile(std::move(plan), {});
    };
    const auto value = [](plan::Program &program) {
        Tensor cache(program.plan().tensors[0].type);
        program.read(0, cache.bytes());
        return cache.f32().front();
    };
    const std::vector<float> ones(10, 1.0F);
    with_cache(10)->write(0, std::as_bytes(std::span(ones)));
    CHECK(value(*with_cache(10)) == 1);
    CHECK(value(*with_cache(20)) == 0);
    CHECK(value(*with_cache(10)) == 0); // what nobody held made room
    const auto held = with_cache(10);
    held->write(0, std::as_bytes(std::span(ones)));
    CHECK(value(*with_cache(20)) == 0);
    CHECK(value(*with_cache(10)) == 1); // shared with the one that holds it
}
