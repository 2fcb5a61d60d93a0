// Graphs with solved shapes, and the errors for those that cannot be solved.
#include "plan/candidates.hpp"
#include "plan/graph_plan.hpp"
#include "plan/lifetimes.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <functional>

using namespace lamina;
using namespace lamina::plan;
using Kind = PlannedTensor::Kind;

namespace {

const std::shared_ptr<const abi::Registry> &fake_plugins() {
    static const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return registry;
}

model::Node node(std::string name, std::string type, std::string input) {
    return {std::move(name), std::move(type), "/graphs/main/layers/0", {}, {{"", std::move(input)}}, {}};
}

// x (B T 8) -> norm -> up (16) -> softmax; the weights are in memory.
struct PlannedModel {
    model::Model model;
    std::map<std::string, Tensor, std::less<>> weights;
    GraphShapes shapes;

    PlannedModel() {
        model.folder = "folder", model.file = model.folder / "model.json";
        model.graphs["main"] = {
            "main",
            {{"x", DType::f32, "B T 8"}},
            {node("norm", "layer_norm", "x"), node("up", "linear", "norm"), node("p", "softmax", "up")},
            {{"probabilities", "p"}}};
        weights["norm.weight"] = Tensor(TensorType{DType::f32, {8}});
        weights["up.weight"] = Tensor(TensorType{DType::f16, {16, 8}});
        shapes.inputs["x"] = {DType::f32, {2, 5, 8}};
    }
    model::Graph &graph() { return model.graphs.at("main"); }
    GraphPlan plan() {
        model.weights = model::Weights::of(weights);
        return plan_graph(model, graph(), *fake_plugins(), shapes);
    }
    std::string refusal() {
        return message_of([&] { (void)plan(); });
    }
};

} // namespace

TEST_CASE("shapes are solved from the inputs through every layer") {
    const GraphPlan plan = PlannedModel().plan();
    REQUIRE(plan.steps.size() == 3);
    const auto tensor = [&](const char *name) { return plan.tensors[static_cast<size_t>(plan.tensor(name))]; };
    CHECK(tensor("x").kind == Kind::input);
    CHECK(tensor("norm").type == TensorType{DType::f32, {2, 5, 8}});
    CHECK(tensor("up").type == TensorType{DType::f32, {2, 5, 16}});
    CHECK(tensor("up.weight").type.dtype == DType::f16);
    CHECK(tensor("up.weight").kind == Kind::weight);
    CHECK_FALSE(tensor("up").output);
    CHECK(tensor("p").output);
    CHECK(plan.outputs.at("probabilities") == plan.tensor("p"));
}

TEST_CASE("a step's ports are bound to tensors, or to none if left out") {
    const GraphPlan plan = PlannedModel().plan();
    const Step &norm = plan.steps[0];
    CHECK(norm.in == std::vector<int32_t>{plan.tensor("x"), none});               // no residual
    CHECK(norm.weight == std::vector<int32_t>{plan.tensor("norm.weight"), none}); // no bias in the file
    CHECK(plan.steps[1].in == std::vector<int32_t>{norm.out[0], none});           // no residual
}

TEST_CASE("a layer without inputs ignores the layer before it") {
    PlannedModel test;
    test.graph().nodes.push_back(node("bias", "relative_position_bias", "p"));
    test.graph().nodes.back().params["max_distance"] = 20.0;
    test.graph().outputs["bias"] = "bias";
    test.weights["bias.table"] = Tensor(TensorType{DType::f32, {32, 3}});
    const GraphPlan plan = test.plan();
    CHECK(plan.steps.back().in.empty());
    CHECK(plan.tensors[static_cast<size_t>(plan.tensor("bias"))].type == TensorType{DType::f32, {3, 41}});
}

TEST_CASE("one weight that two layers map to is one tensor") {
    PlannedModel test;
    test.graph().nodes.push_back(node("again", "layer_norm", "norm"));
    test.graph().nodes.back().weights["weight"] = "norm.weight";
    test.graph().outputs["again"] = "again";
    const GraphPlan plan = test.plan();
    CHECK(plan.steps[3].weight[0] == plan.steps[0].weight[0]);
}

TEST_CASE("an activation lives from the step that writes it to the last that reads it; an output to the end") {
    PlannedModel test;
    test.graph().outputs["early"] = "norm";
    const GraphPlan plan = test.plan();
    const std::vector<Lifetime> lifetimes = lifetimes_of(plan, false);
    const auto of = [&](const char *name) { return lifetimes[static_cast<size_t>(plan.tensor(name))]; };
    CHECK(of("up").first == 1);
    CHECK(of("up").last == 2);
    CHECK(of("up").bytes == 2 * 5 * 16 * 4);
    CHECK(of("norm").last >= 2); // nothing may be placed over it
    CHECK(of("x").bytes == 0);
    CHECK(of("up.weight").bytes == 0);
    for (const Lifetime &l : lifetimes_of(plan, true)) CHECK((l.bytes == 0 || l.last >= 2));
}

TEST_CASE("a graph that does not fit together is refused with the layer, its place and what was expected") {
    PlannedModel test;
    const auto refused_for = [&](const char *why) { CHECK_THAT(test.refusal(), matchers::contains(why)); };
    SECTION("an input that is missing") {
        test.shapes.inputs.clear();
        refused_for("input 'x' is missing: expected f32 of shape (B T 8)");
    }
    SECTION("an input that the graph does not have") {
        test.shapes.inputs["xx"] = test.shapes.inputs["x"];
        refused_for("no input 'xx'; did you mean 'x'");
    }
    SECTION("an input of another dtype") {
        test.shapes.inputs["x"].dtype = DType::i32;
        refused_for("expected f32, found i32");
    }
    SECTION("an input of another shape") {
        test.shapes.inputs["x"].shape = {2, 5, 9};
        refused_for("(2, 5, 9)");
    }
    SECTION("a weight of another shape") {
        test.weights["up.weight"] = Tensor(TensorType{DType::f32, {16, 9}});
        refused_for("/graphs/main/layers/0: layer 'up'");
    }
    SECTION("a weight that is missing") {
        test.weights.erase("up.weight");
        refused_for("weight 'weight' is missing (N K: one row for each output value)");
        refused_for("(tensors in memory) holds no tensor 'up.weight'");
    }
    SECTION("a file of weights that is missing") {
        test.model.graphs["main"].nodes.erase(test.graph().nodes.begin()); // the norm needs none
        test.graph().nodes[0].inputs[""] = "x";
        CHECK_THAT(message_of([&] { (void)plan_graph(test.model, test.graph(), *fake_plugins(), test.shapes); }),
                   matchers::contains("weight 'weight' is missing") &&
                       matchers::contains((std::filesystem::path("folder") / "model.safetensors").string() +
                                          " does not exist"));
    }
    SECTION("a weight that is mapped to a tensor which is not there") {
        test.graph().nodes[0].weights["bias"] = "norm.offset";
        refused_for("holds no tensor 'norm.offset'");
    }
    SECTION("a mapped weight that the layer does not have") {
        test.graph().nodes[0].weights["gain"] = "norm.weight";
        refused_for("layer_norm has no weight 'gain'");
    }
    SECTION("a layer that no plugin has") {
        test.graph().nodes[0].type = "layer_nrom";
        refused_for("layer_norm");
    }
    SECTION("a parameter that the layer does not have") {
        test.graph().nodes[0].params["epsilon"] = 1e-5;
        refused_for("no parameter 'epsilon'");
    }
}

TEST_CASE("unused weights are listed, so that a misspelt bias does not pass as absent") {
    PlannedModel test;
    test.weights["norm.bais"] = Tensor(TensorType{DType::f32, {8}});
    (void)test.plan();
    CHECK(unused_weights(test.model, *fake_plugins()) == std::vector<std::string>{"norm.bais"});
}

TEST_CASE("a tensor that a plan does not have is refused with the nearest name") {
    const GraphPlan plan = PlannedModel().plan();
    CHECK_THAT(message_of([&] { (void)plan.tensor("nrom"); }), matchers::contains("did you mean 'norm'"));
}

TEST_CASE("an isolated step is a graph: its operands are inputs, its results outputs") {
    const GraphPlan plan = PlannedModel().plan();
    const GraphPlan alone = isolate(plan, 1);
    REQUIRE(alone.steps.size() == 1);
    CHECK(alone.steps[0].name == "up");
    REQUIRE(alone.inputs.contains("norm"));
    CHECK(alone.tensors[static_cast<size_t>(alone.inputs.at("norm"))].kind == Kind::input);
    CHECK(alone.tensors[static_cast<size_t>(alone.tensor("up"))].output);
    CHECK(alone.tensors[static_cast<size_t>(alone.tensor("up.weight"))].kind == Kind::weight);
}

TEST_CASE("states have the requested capacity, and are absent without one or without their input") {
    PlannedModel test;
    test.graph().inputs.push_back({"position", DType::i32, "B"});
    test.shapes.inputs["position"] = {DType::i32, {2}};
    for (const char *name : {"attention", "elsewhere"}) {
        test.graph().nodes.push_back(node(name, "attention", "norm"));
        for (const char *port : {"k", "v"}) test.graph().nodes.back().inputs[port] = "norm";
        test.graph().nodes.back().params["heads"] = 2.0;
        test.graph().outputs[name] = name;
    }
    test.graph().nodes[3].inputs["position"] = "position";
    CHECK(test.plan().steps[3].state == std::vector<int32_t>{none, none});
    test.shapes.state_length = 40;
    const GraphPlan plan = test.plan();
    const PlannedTensor &cache = plan.tensors[static_cast<size_t>(plan.tensor("attention.key_cache"))];
    CHECK(cache.kind == Kind::state);
    CHECK(cache.type == TensorType{DType::f32, {2, 40, 8}});
    CHECK(plan.steps[4].state == std::vector<int32_t>{none, none});
    test.shapes.state_dtype = DType::f16;
    const GraphPlan halves = test.plan();
    CHECK(halves.tensors[static_cast<size_t>(halves.tensor("attention.value_cache"))].type.dtype == DType::f16);
}

TEST_CASE("a plan of states alone has the layers that states depend on, and no others") {
    PlannedModel test;
    test.graph().inputs.push_back({"position", DType::i32, "B"});
    test.shapes.inputs["position"] = {DType::i32, {2}};
    const auto attend = [&](const char *name, const char *input) {
        test.graph().nodes.push_back(node(name, "attention", input));
        test.graph().nodes.back().inputs = {{"q", input}, {"k", "norm"}, {"v", "norm"}, {"position", "position"}};
        test.graph().nodes.back().params["heads"] = 2.0;
    };
    attend("first", "norm");
    attend("second", "first");
    test.graph().nodes.push_back(node("after", "softmax", "second"));
    test.graph().outputs["after"] = "after";
    test.shapes.state_length = 40;
    CHECK(test.plan().steps.size() == 6);

    test.shapes.states_only = true;
    const GraphPlan plan = test.plan();
    std::vector<std::string> names;
    for (const Step &step : plan.steps) names.push_back(step.name);
    CHECK(names == std::vector<std::string>{"norm", "first", "second"});
    CHECK(plan.outputs.empty());
    CHECK(plan.inputs.size() == 2);
    CHECK(plan.steps[2].in[0] == plan.tensor("first"));
    CHECK(plan.steps[2].state[1] == plan.tensor("second.value_cache"));
    for (const char *name : {"up", "up.weight", "p", "after"})
        CHECK_THAT(message_of([&] { (void)plan.tensor(name); }), matchers::contains("no tensor"));
    for (const PlannedTensor &tensor : plan.tensors) CHECK_FALSE(tensor.output);

    test.shapes.state_length = 0; // nothing is left
    CHECK(test.plan().steps.empty());
}

TEST_CASE("candidates are chosen behind an output, which stays on the device, if its rows are long enough") {
    PlannedModel test;
    test.shapes.candidates = Candidates{"probabilities", 64, true};
    CHECK(test.plan().steps.size() == 3); // rows of 16
    CHECK(test.plan().outputs.size() == 1);

    test.weights["up.weight"] = Tensor(TensorType{DType::f16, {shortest_choice, 8}});
    const GraphPlan plan = test.plan();
    REQUIRE(plan.steps.size() == 4);
    const Step &choice = plan.steps.back();
    CHECK(choice.call.layer().id() == "top_k");
    CHECK(choice.in == std::vector{plan.tensor("p"), plan.inputs.at(candidate_bias)});
    const auto tensor = [&](const char *output) { return plan.tensors[static_cast<size_t>(plan.outputs.at(output))]; };
    CHECK(tensor("probabilities").stays);
    CHECK(tensor(candidate_scores).type == TensorType{DType::f32, {2, 5, 64}});
    CHECK(tensor(candidate_tokens).type == TensorType{DType::i32, {2, 5, 64}});
    CHECK(tensor(candidate_sum).type == TensorType{DType::f32, {2, 5, 1}});
    for (const char *output : {candidate_scores, candidate_tokens, candidate_sum}) {
        CHECK(tensor(output).output);
        CHECK_FALSE(tensor(output).stays);
    }
}
