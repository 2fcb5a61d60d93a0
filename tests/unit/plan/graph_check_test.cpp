// A graph that fails for all inputs is refused without them; one that may run for some inputs is accepted.
#include "plan/graph_check.hpp"
#include "plan/symbolic_types.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <filesystem>
#include <functional>

using namespace lamina;
using namespace lamina::plan;

namespace {

const std::shared_ptr<const abi::Registry> &plugins() {
    static const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return registry;
}

// "f32 (B S 160)", by the tensors' names.
std::map<std::string, std::string> dims_of(const model::Model &model, const model::Graph &graph) {
    std::map<std::string, std::string> out;
    for (const auto &[name, type] : symbolic_types(model, graph, *plugins()))
        out[name] = std::string(name_of(type.dtype)) + " (" + type.dims + ")";
    return out;
}

std::string model_file() { return (std::filesystem::path("folder") / "model.json").string(); }

struct TestModel {
    model::Model model;
    std::map<std::string, Tensor, std::less<>> weights;

    explicit TestModel(std::vector<model::GraphInput> inputs) {
        model.folder = "folder", model.file = model.folder / "model.json";
        model.graphs["main"] = {"main", std::move(inputs), {}, {}};
    }
    model::Node &add(const std::string &name, const std::string &type, const std::string &input) {
        graph().outputs = {{"y", name}};
        return graph().nodes.emplace_back(model::Node{name, type, "/graphs/main/layers/0", {}, {{"", input}}, {}});
    }
    void weight(const std::string &name, const Shape &shape) { weights[name] = Tensor(TensorType{DType::f32, shape}); }
    void attention(const std::string &name, const std::string &input, double heads) {
        model::Node &node = add(name, "attention", input);
        node.inputs["k"] = input;
        node.params["heads"] = heads;
    }
    model::Graph &graph() { return model.graphs.at("main"); }
    std::map<std::string, std::string> dims() {
        model.weights = model::Weights::of(weights);
        return dims_of(model, graph());
    }
    void check() {
        model.weights = model::Weights::of(weights);
        check_graph(model, graph(), *plugins());
    }
    std::string refusal() {
        return message_of([&] { check(); });
    }
    // The error of a run with inputs of these shapes.
    std::string run_refusal(const std::map<std::string, Shape> &shapes) {
        model.weights = model::Weights::of(weights);
        GraphShapes all;
        for (const auto &[name, shape] : shapes) all.inputs[name] = {DType::f32, shape};
        return message_of([&] { (void)plan_graph(model, graph(), *plugins(), all); });
    }
};

} // namespace

TEST_CASE("sizes determined by weights are known, equal names are unified, and the rest stays open") {
    TestModel test({{"x", DType::f32, "B T C"}, {"y", DType::f32, "N U D"}});
    test.add("norm", "layer_norm", "x");
    test.weight("norm.weight", {8});
    test.add("add", "dropout", "norm").inputs["residual"] = "y";
    test.check();
    const auto dims = test.dims();
    for (const char *tensor : {"x", "y", "norm", "add"}) CHECK(dims.at(tensor) == "f32 (B T 8)");
}

TEST_CASE("an open width that must be a multiple is expressed as one, and checked") {
    TestModel test({{"x", DType::f32, "B T C"}});
    test.attention("a", "x", 5);
    for (const char *tensor : {"x", "a"}) CHECK(test.dims().at(tensor) == "f32 (B T 5*D)");
    test.check();
    test.add("up", "linear", "a");
    test.weight("up.weight", {4, 33});
    CHECK_THAT(test.refusal(), matchers::contains("layer 'up': weight 'weight': expected a shape of (N K) with N = 4, "
                                                  "K = 5*D, found (4, 33)"));
    test.weight("up.weight", {4, 35});
    CHECK(test.dims().at("x") == "f32 (B T 35)");
    test.check();
}

TEST_CASE("sizes are solved up to the layer that cannot fit") {
    TestModel test({{"x", DType::f32, "B T C"}});
    test.add("norm", "layer_norm", "x");
    test.weight("norm.weight", {8});
    test.add("up", "linear", "norm");
    test.weight("up.weight", {16, 9});
    test.add("p", "softmax", "up");
    const auto dims = test.dims();
    CHECK(dims.at("norm") == "f32 (B T 8)");
    CHECK_FALSE(dims.contains("up"));
    CHECK_FALSE(dims.contains("p"));
    CHECK(test.refusal() == model_file() + ": /graphs/main/layers/0: layer 'up': weight 'weight': "
                                           "expected a shape of (N K) with N = 16, K = 8, found (16, 9)");
}

TEST_CASE("a decoder's sizes follow from its encoder") {
    TestModel test({{"x", DType::f32, "B S 8"}});
    test.add("memory", "softmax", "x");
    test.model.graphs["decode"] = {"decode", {{"memory", DType::f32, "B S C"}}, {}, {{"y", "p"}}};
    test.model.graphs["decode"].nodes.push_back({"p", "softmax", "/graphs/decode/layers/0", {}, {{"", "memory"}}, {}});
    test.graph().outputs = {{"memory", "memory"}};
    test.model.generation.emplace();
    test.model.generation->encode = "main", test.model.generation->decode = "decode";
    const auto dims = dims_of(test.model, test.model.graphs.at("decode"));
    CHECK(dims.at("p") == "f32 (B S 8)");
}

TEST_CASE("a graph that runs with some sizes passes") {
    TestModel test({{"x", DType::f32, "B T C"}});
    SECTION("channels that are open, where only an even number will do") { test.add("p", "positional_encoding", "x"); }
    SECTION("a width that only a later layer's weight says") {
        test.add("p", "softmax", "x");
        test.add("a", "linear", "p");
        test.weight("a.weight", {5, 12});
    }
    SECTION("positions that are few") { test.add("p", "positional_encoding", "x").params["max_len"] = 1.0; }
    test.check();
}

TEST_CASE("a graph that fails for all sizes is refused with the error of the first run") {
    TestModel test({{"x", DType::f32, "B T 32"}});
    std::string expected;
    SECTION("heads that do not divide the width") {
        test.attention("a", "x", 5);
        expected = "a multiple of 5";
    }
    SECTION("a parameter out of its range") {
        test.attention("a", "x", -4);
        expected = "parameter 'heads'";
    }
    SECTION("a choice that is none") {
        test.add("f", "feed_forward", "x").params["activation"] = std::string("rlu");
        test.weight("f.up_weight", {64, 32});
        test.weight("f.down_weight", {32, 64});
        expected = "rlu";
    }
    SECTION("a weight of another size") {
        test.add("n", "layer_norm", "x");
        test.weight("n.weight", {16});
        expected = "weight 'weight'";
    }
    SECTION("channels that are odd, where lengths are limited, too") {
        test.graph().inputs[0].dims = "B T 33";
        test.add("p", "positional_encoding", "x").params["max_len"] = 5.0;
        CHECK_THAT(test.refusal(), matchers::contains("x has 33 channels"));
        return;
    }
    SECTION("two tensors of different widths, whose batch and length are open") {
        test.add("up", "linear", "x");
        test.weight("up.weight", {16, 32});
        test.add("add", "dropout", "up").inputs["residual"] = "x";
        expected = "residual";
    }
    SECTION("a layer behind one whose width was open") {
        test.graph().inputs[0].dims = "B T C";
        test.add("n", "layer_norm", "x");
        test.weight("n.weight", {32});
        test.attention("a", "n", 5);
        expected = "a multiple of 5";
    }
    const std::string refusal = test.refusal();
    CHECK_THAT(refusal, matchers::contains(model_file() + ": /graphs/main/layers/0: layer '"));
    CHECK_THAT(refusal, matchers::contains(expected));
    if (expected != "residual") CHECK(refusal == test.run_refusal({{"x", {2, 3, 32}}}));
}
