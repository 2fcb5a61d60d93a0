// The states of programs in host memory: their lifetime and their guards.
#include "../abi/test_layer.hpp"
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
    CHECK(value(*with_cache(10)) == 0); // a state that nobody held was dropped
    const auto held = with_cache(10);
    held->write(0, std::as_bytes(std::span(ones)));
    CHECK(value(*with_cache(20)) == 0);
    CHECK(value(*with_cache(10)) == 1); // shared with the one that holds it
}

TEST_CASE("cpu: a state that is removed is gone with its programs") {
    const auto backend = cpu::make_backend(nullptr, {}, nullptr);
    const auto with_cache = [&](const std::string &name) {
        plan::GraphPlan plan{.graph = "test", .tensors = {}, .steps = {}, .inputs = {}, .outputs = {}};
        plan.tensors.push_back({name, {DType::f32, {10}}, plan::PlannedTensor::Kind::state, false});
        return backend->compile(std::move(plan), {});
    };
    const auto value = [&](const std::string &name) {
        Tensor cache(TensorType{DType::f32, {10}});
        with_cache(name)->read(0, cache.bytes());
        return cache.f32().front();
    };
    const std::vector<float> ones(10, 1.0F);
    for (const char *name : {"cache", "adapter 1: cache"}) with_cache(name)->write(0, std::as_bytes(std::span(ones)));
    backend->remove("adapter 1: ");
    CHECK(value("cache") == 1);
    CHECK(value("adapter 1: cache") == 0);
}

TEST_CASE("cpu: a write outside a state is found") {
    test::TestLayer made;
    made.params.clear(), made.weights.clear();
    made.inputs = {test::input("x", "N", "")}, made.outputs = {test::output("y", "N", "")};
    made.states = {test::state("sum", "N", nullptr, "")};
    for (const bool careless : {false, true}) {
        if (careless)
            made.contract.reference = [](const lamina_call *call, const lamina_host *) -> lamina_status {
                static_cast<float *>(call->state[0].data)[-1] = 1;
                return LAMINA_OK;
            };
        const abi::Layer layer = made.layer();
        const TensorType type{DType::f32, {5}};
        abi::LayerCall call(layer, {}, abi::CallTypes{{{"x", type}}, {}, {{"sum", type}}}, "the test");
        plan::GraphPlan plan{.graph = "test", .tensors = {}, .steps = {}, .inputs = {{"x", 0}}, .outputs = {{"y", 1}}};
        plan.tensors = {{"x", type, plan::PlannedTensor::Kind::input, false},
                        {"y", type, plan::PlannedTensor::Kind::activation, true},
                        {"sum", type, plan::PlannedTensor::Kind::state, false}};
        plan.steps.push_back({"step", std::move(call), {0}, {}, {1}, {2}});
        plan::ProgramOptions options;
        options.guard = true;
        const auto program = cpu::make_backend(nullptr, {}, nullptr)->compile(std::move(plan), options);
        program->write(0, std::vector<std::byte>(type.bytes()));
        program->run();
        CHECK(program->overrun() == (careless ? "'sum'" : ""));
    }
}
