// A layer's parameters and types, resolved and checked before the plugin sees them.
#include "abi/call.hpp"

#include "catch.hpp"
#include "test_layer.hpp"

#include <cmath>
#include <functional>

using namespace lamina;
using namespace lamina::abi;
using test::TestLayer;

namespace {

using Params = std::map<std::string, ParamValue, std::less<>>;

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

// 2 sequences of 5 tokens of 8 channels, 2 heads of 3.
CallTypes small_types() {
    CallTypes types;
    types.in["query"] = f32({2, 5, 8});
    types.weight["weight"] = f32({6, 8});
    return types;
}

LayerCall call_of(const Layer &layer, const Params &params = {}, const CallTypes &types = small_types()) {
    return LayerCall(layer, params, types, "layer 'a'");
}

std::string refusal(const Layer &layer, const Params &params = {}, const CallTypes &types = small_types()) {
    return message_of([&] { (void)call_of(layer, params, types); });
}

} // namespace

TEST_CASE("parameters that are left out take their default, or the value of the one that they follow") {
    TestLayer test;
    const Layer layer = test.layer();
    CHECK(call_of(layer).params() == std::vector<double>{2, 1e-5, 0, 0, 2, 1});
    const LayerCall call = call_of(layer, {{"heads", 3.0}, {"activation", std::string("gelu")}, {"causal", true}});
    CHECK(call.params() == std::vector<double>{3, 1e-5, 1, 1, 3, 1});
    CHECK(call.size("D") == 2);
}

TEST_CASE("a parameter of the wrong kind, range or name is refused with what was expected") {
    TestLayer test;
    const Layer layer = test.layer();
    CHECK_THAT(refusal(layer, {{"heads", 2.5}}), matchers::contains("a whole number"));
    CHECK_THAT(refusal(layer, {{"heads", 65.0}}), matchers::contains("from 1 to 64"));
    CHECK_THAT(refusal(layer, {{"heads", std::string("two")}}), matchers::contains("a number, found \"two\""));
    CHECK_THAT(refusal(layer, {{"heads", std::nan("")}}), matchers::contains("found nan"));
    CHECK_THAT(refusal(layer, {{"causal", 1.0}}), matchers::contains("true or false"));
    CHECK_THAT(refusal(layer, {{"activation", std::string("gelo")}}), matchers::contains("did you mean 'gelu'"));
    CHECK_THAT(refusal(layer, {{"head", 2.0}}), matchers::contains("did you mean 'heads'"));
    test.params[0].flags = LAMINA_REQUIRED;
    CHECK_THAT(refusal(test.layer()), matchers::contains("parameter 'heads' is required"));
}

TEST_CASE("a port must be known, of an allowed dtype and not empty, and a required one must be given") {
    TestLayer test;
    const Layer layer = test.layer();
    CallTypes types = small_types();
    SECTION("missing") {
        types.weight.clear();
        CHECK_THAT(refusal(layer, {}, types), matchers::contains("weight 'weight' is missing"));
    }
    SECTION("dtype") {
        types.in["query"].dtype = DType::i32;
        CHECK_THAT(refusal(layer, {}, types), matchers::contains("expected f32, found i32"));
    }
    SECTION("empty") {
        types.in["query"].shape = {2, 0, 8};
        CHECK_THAT(refusal(layer, {}, types), matchers::contains("none empty"));
    }
    SECTION("unknown") {
        types.weight["bais"] = f32({6});
        CHECK_THAT(refusal(layer, {}, types), matchers::contains("did you mean 'bias'"));
    }
    SECTION("another shape") {
        types.weight["bias"] = f32({7});
        CHECK_THAT(refusal(layer, {}, types), matchers::contains("layer 'a': weight 'bias'"));
    }
}

TEST_CASE("a weight in blocks has rows of whole blocks") {
    TestLayer test;
    test.weights[0].dtypes |= LAMINA_Q8_0;
    CallTypes types = small_types();
    types.weight["weight"].dtype = DType::q8_0;
    CHECK_THAT(refusal(test.layer(), {}, types),
               matchers::contains("layer 'a': weight 'weight': q8_0 stores blocks of 32 values; expected a last "
                                  "axis that is a multiple of this, found (6, 8)"));
}

TEST_CASE("outputs follow from the inputs, and another port may stand in for one that is left out") {
    TestLayer test;
    const Layer layer = test.layer();
    const LayerCall call = call_of(layer);
    CHECK(call.types(PortList::out) == std::vector<TensorType>{f32({2, 5, 6})});
    CHECK(call.types(PortList::in)[1] == f32({2, 5, 8}));
    CHECK(call.bound(PortList::in) == std::vector<uint32_t>{0, 0, 2});
    CHECK(call.types(PortList::in)[2].shape.empty());
    CHECK(call.types(PortList::state)[0].shape.empty());
}

TEST_CASE("sequence-first tensors swap their first two axes, and the dims keep their names") {
    TestLayer test;
    const Layer layer = test.layer();
    CallTypes types = small_types();
    types.in["query"] = f32({5, 2, 8});
    const LayerCall call = call_of(layer, {{"batch_first", false}}, types);
    CHECK(call.size("B") == 2);
    CHECK(call.size("T") == 5);
    CHECK(call.types(PortList::out)[0].shape == Shape{5, 2, 6});
}

TEST_CASE("states are given, or all inferred with the capacity that the host chooses") {
    TestLayer test;
    const Layer layer = test.layer();
    CallTypes types = small_types();
    types.state["cache"] = f32({2, 40, 8});
    CHECK(call_of(layer, {}, types).size("M") == 40);
    types.state["cache"] = f32({2, 40, 9});
    CHECK_THAT(refusal(layer, {}, types), matchers::contains("layer 'a': state 'cache': expected a shape of (B M C)"));

    Solver solver;
    OpenTypes open;
    open.in["query"] = OpenType(f32({2, 5, 8})), open.weight["weight"] = OpenType(f32({6, 8})),
    open.host_states = {Size(40), DType::f32};
    const LayerCall call(OpenCall(layer, {}, open, solver, "layer 'a'"), solver);
    CHECK(call.types(PortList::state)[0] == f32({2, 40, 8}));
    CHECK(call.size("M") == 40);
}

TEST_CASE("a state that goes with several inputs is there if all of them are given") {
    TestLayer test;
    test.states[0] = lamina::plugin::goes_with(test.states[0], "source lengths");
    const Layer layer = test.layer();
    const auto state_with = [&](bool source, bool lengths) {
        Solver solver;
        OpenTypes open;
        open.in["query"] = OpenType(f32({2, 5, 8})), open.weight["weight"] = OpenType(f32({6, 8}));
        if (source) open.in["source"] = OpenType(f32({2, 5, 8}));
        if (lengths) open.in["lengths"] = OpenType(TensorType{DType::i32, {2}});
        open.host_states = {Size(40), DType::f32};
        return LayerCall(OpenCall(layer, {}, open, solver, "layer 'a'"), solver).types(PortList::state)[0].shape;
    };
    CHECK(state_with(true, true) == Shape{2, 40, 8});
    CHECK(state_with(true, false).empty());
    CHECK(state_with(false, true).empty());
}

TEST_CASE("open sizes stay open in the outputs, and the solver learns a layer's equations") {
    TestLayer test;
    const Layer layer = test.layer();
    Solver solver;
    const Size b = solver.open("B"), t = solver.open("T"), c = solver.open("C");
    OpenTypes types;
    types.in["query"] = {DType::f32, {t, b, c}}, types.weight["weight"] = OpenType(f32({6, 8}));
    const OpenCall call(layer, {{"batch_first", false}}, types, solver, "layer 'a'");
    CHECK(solver.text(call.types(PortList::out)[0].shape) == "(T, B, 6)");
    CHECK(solver.resolve(c).number() == 8);
    CHECK_THROWS_AS(LayerCall(call, solver), Error);
    REQUIRE(solver.equate(b, 2));
    REQUIRE(solver.equate(t, 5));
    CHECK(LayerCall(call, solver).types(PortList::out)[0].shape == Shape{5, 2, 6});
}

TEST_CASE("sizes that are impossible or undetermined are refused") {
    TestLayer test;
    test.outputs[0].dims = "B T-5";
    CHECK_THAT(refusal(test.layer()),
               matchers::contains("output 'y': expected sizes of at least 1") && matchers::contains("found (2, 0)"));
    test.outputs[0].dims = "B T*1000000000*1000000000";
    CHECK_THAT(refusal(test.layer()), matchers::contains("whose product fits in 64 bits"));
    test.outputs[0].dims = "B T C B T C B T C";
    CHECK_THAT(refusal(test.layer()), matchers::contains("output 'y': expected a tensor of 1 to 8 axes, found 9"));
    test.weights[0].dims = "A*D C", test.outputs[0].dims = "B A";
    CHECK_THAT(refusal(test.layer()), matchers::contains("a contract that determines all sizes, found (2, A)"));
}

TEST_CASE("the range of an I32 input follows from the dims") {
    TestLayer test;
    const Layer layer = test.layer();
    CallTypes types = small_types();
    types.in["source"] = f32({2, 9, 8});
    types.in["lengths"] = {DType::i32, {2}};
    const LayerCall call = call_of(layer, {}, types);
    CHECK(call.values(abi::PortList::in, 2) == std::optional(std::pair<int64_t, int64_t>(0, 10)));
    CHECK_FALSE(call.values(abi::PortList::in, 0).has_value());
}

TEST_CASE("an error of a plugin's own check is reported in its words, after the layer's name") {
    TestLayer test;
    test.contract.check = [](const lamina_call *, const lamina_host *host) -> lamina_status {
        host->error(host, "C must be odd");
        return LAMINA_INVALID;
    };
    CHECK(refusal(test.layer()) == "layer 'a': C must be odd");
}

TEST_CASE("a plugin's status becomes an error with the right code, or a reason to use another variant") {
    TestLayer test;
    const LayerCall::Data data{{nullptr, nullptr, nullptr}, {nullptr, nullptr}, {nullptr}, {nullptr}};
    std::string why_not;
    const LayerCall::PlanSink sink;
    test.contract.plan = [](const lamina_call *, uint32_t, const lamina_host *host) -> lamina_status {
        host->error(host, "K is odd");
        return LAMINA_UNSUPPORTED;
    };
    CHECK_FALSE(call_of(test.layer()).plan(0, lamina_device{}, sink, why_not));
    CHECK(why_not == "K is odd");

    test.contract.reference = [](const lamina_call *, const lamina_host *host) -> lamina_status {
        host->error(host, "an exception");
        return LAMINA_INTERNAL;
    };
    try {
        call_of(test.layer()).reference(data);
        FAIL("nothing was thrown");
    } catch (const Error &e) {
        CHECK(e.code() == ErrorCode::plugin);
        CHECK_THAT(e.what(), matchers::contains("layer 'a': the plugin failed: an exception"));
    }
}

TEST_CASE("an error that a plan's callback throws passes through the plugin unchanged") {
    TestLayer test;
    test.contract.plan = [](const lamina_call *, uint32_t, const lamina_host *host) -> lamina_status {
        lamina_ref ref{};
        return host->scratch(host, 64, &ref) == LAMINA_OK ? LAMINA_OK : LAMINA_INTERNAL;
    };
    LayerCall::PlanSink sink;
    sink.scratch = [](uint64_t bytes) -> lamina_ref {
        throw Error(ErrorCode::memory, std::to_string(bytes) + " bytes are too many");
    };
    std::string why_not;
    const Layer layer = test.layer();
    const LayerCall call = call_of(layer);
    CHECK(message_of([&] { (void)call.plan(0, lamina_device{}, sink, why_not); }) == "64 bytes are too many");
}

TEST_CASE("floating-point tensors are F32 for the reference and keep their dtype for the plan") {
    TestLayer test;
    static uint32_t seen = 0;
    test.contract.reference = [](const lamina_call *call, const lamina_host *) -> lamina_status {
        seen = call->weight[0].dtype;
        return LAMINA_OK;
    };
    test.contract.plan = [](const lamina_call *call, uint32_t, const lamina_host *) -> lamina_status {
        seen = call->weight[0].dtype;
        return LAMINA_OK;
    };
    CallTypes types = small_types();
    types.weight["weight"].dtype = DType::f16;
    const Layer layer = test.layer();
    const LayerCall call = call_of(layer, {}, types);
    std::vector<float> memory(100);
    call.reference({{memory.data(), memory.data(), nullptr}, {memory.data(), nullptr}, {memory.data()}, {nullptr}});
    CHECK(seen == LAMINA_F32);
    std::string why_not;
    REQUIRE(call.plan(0, lamina_device{}, {}, why_not));
    CHECK(seen == LAMINA_F16);
}

TEST_CASE("a reference sees the rows that are wanted: those of the host, or all; a host of 1.0 wants all") {
    TestLayer test;
    test.outputs[0] = test::by_rows(test.outputs[0]);
    static std::vector<int64_t> seen, of_older_host;
    test.contract.reference = [](const lamina_call *call, const lamina_host *) -> lamina_status {
        const auto wanted = [](const lamina_call &c) { return test::Call(c).wanted(test::Call(c).out("y")); };
        seen = wanted(*call);
        lamina_call older = *call;
        older.struct_size = offsetof(lamina_call, rows);
        of_older_host = wanted(older);
        return LAMINA_OK;
    };
    const Layer layer = test.layer();
    const LayerCall call = call_of(layer);
    CHECK(call.by_rows());
    std::vector<float> memory(100);
    const LayerCall::Data data{
        {memory.data(), memory.data(), nullptr}, {memory.data(), nullptr}, {memory.data()}, {nullptr}};
    const std::vector<int64_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    call.reference(data);
    CHECK(seen == all);
    call.reference(data, std::vector<int64_t>{0, 7, 10}); // 10: of another, longer output
    CHECK(seen == std::vector<int64_t>{0, 7});
    CHECK(of_older_host == all);
}
