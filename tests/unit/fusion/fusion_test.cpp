// Where the fusions of this build fit in graphs, and what graphs compute with them.
#include "fusion/fusion.hpp"
#include "fusion/order.hpp"

#include "catch.hpp"
#include "places.hpp"

#include "cpu/backend.hpp"

#include <algorithm>
#include <functional>

using namespace lamina;
using namespace lamina::fusion;

namespace {

const std::shared_ptr<const abi::Registry> &built_plugins() {
    static const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return registry;
}

using Inputs = std::map<std::string, std::string, std::less<>>;

// A transformer block of 8 channels and 2 heads, one of which holds the keys, as language models have it.
struct Block {
    model::Graph graph{
        "main", {{"x", DType::f32, "B T 8"}, {"position", DType::i32, "B"}}, {}, {{"y", "feed_forward"}}};
    plan::GraphShapes shapes{.inputs = {{"x", {DType::f32, {2, 3, 8}}}, {"position", {DType::i32, {2}}}},
                             .state_length = 5};
    std::map<std::string, Tensor, std::less<>> weights;
    model::Model model;

    Block() {
        model.folder = "folder", model.file = model.folder / "model.json";
        add("norm", "rms_norm", {{"x", "x"}}, {{"eps", 1e-5}});
        for (const char *name : {"q", "k", "v"}) add(name, "linear", {{"x", "norm"}});
        add("q_rotary", "rotary", {{"x", "q"}, {"position", "position"}}, {{"heads", 2.0}});
        add("k_rotary", "rotary", {{"x", "k"}, {"position", "position"}}, {{"heads", 1.0}});
        add("attention", "attention", {{"q", "q_rotary"}, {"k", "k_rotary"}, {"v", "v"}, {"position", "position"}},
            {{"heads", 2.0}, {"kv_heads", 1.0}, {"causal", true}});
        add("out", "linear", {{"x", "attention"}, {"residual", "x"}});
        add("second_norm", "rms_norm", {{"x", "out"}}, {{"eps", 1e-5}});
        add("feed_forward", "feed_forward", {{"x", "second_norm"}, {"residual", "out"}},
            {{"activation", std::string("silu")}});
        for (const char *name : {"norm.weight", "second_norm.weight"}) weight(name, {8});
        weight("q.weight", {8, 8}), weight("k.weight", {4, 8}), weight("v.weight", {4, 8}), weight("v.bias", {4});
        weight("out.weight", {8, 8});
        for (const char *name : {"q_rotary.frequencies", "k_rotary.frequencies"}) weight(name, {2});
        node("k_rotary").weights["frequencies"] = "q_rotary.frequencies"; // one table, as models have
        weight("feed_forward.up_weight", {12, 8}), weight("feed_forward.gate_weight", {12, 8});
        weight("feed_forward.down_weight", {8, 12});
    }

    void add(const std::string &name, const char *type, Inputs inputs, abi::Params params = {}) {
        graph.nodes.push_back({name,
                               type,
                               "/graphs/main/layers/" + std::to_string(graph.nodes.size()),
                               std::move(params),
                               std::move(inputs),
                               {}});
    }
    void weight(const char *name, Shape shape) {
        Tensor tensor(TensorType{DType::f32, std::move(shape)});
        for (size_t i = 0; i < tensor.f32().size(); ++i)
            tensor.f32()[i] = static_cast<float>((i + weights.size()) * 7 % 11) * 0.1F - 0.4F;
        weights[name] = std::move(tensor);
    }
    model::Node &node(const std::string &name) { return *std::ranges::find(graph.nodes, name, &model::Node::name); }
    // Moves a node before another one.
    void move(const std::string &name, const std::string &before) {
        const auto at = std::ranges::find(graph.nodes, name, &model::Node::name);
        const model::Node moved = *at;
        graph.nodes.erase(at);
        graph.nodes.insert(std::ranges::find(graph.nodes, before, &model::Node::name), moved);
    }
    plan::GraphPlan plan() {
        model.weights = model::Weights::of(weights);
        return plan::plan_graph(model, graph, *built_plugins(), shapes);
    }
    std::vector<Match> matches() { return find(plan(), *built_plugins()); }
    plan::GraphPlan fused() {
        const plan::GraphPlan whole = plan();
        return fuse(whole, find(whole, *built_plugins()));
    }

    // The output and the caches after two runs, by the references.
    std::vector<Tensor> run(plan::GraphPlan plan) {
        const auto backend = cpu::make_backend(built_plugins(), model.weights, nullptr);
        const auto program = backend->compile(std::move(plan), {});
        std::vector<Tensor> out;
        for (const int32_t position : {0, 2}) {
            Tensor x(TensorType{DType::f32, {2, 3, 8}});
            for (size_t i = 0; i < x.f32().size(); ++i)
                x.f32()[i] = static_cast<float>(i * 5 % 13 + static_cast<size_t>(position)) * 0.2F - 1;
            program->write(program->plan().inputs.at("x"), x.bytes());
            program->write(program->plan().inputs.at("position"),
                           Tensor::of({2}, std::array<int32_t, 2>{position, position}).bytes());
            program->run();
        }
        for (const char *name : {"feed_forward", "attention.key_cache", "attention.value_cache"}) {
            const int32_t t = program->plan().tensor(name);
            program->read(t, out.emplace_back(program->plan().tensors[static_cast<size_t>(t)].type).bytes());
        }
        return out;
    }
};

std::vector<std::string> types_of(const std::vector<Match> &matches) {
    std::vector<std::string> out;
    for (const Match &match : matches) out.emplace_back(match.fused.call.layer().id());
    return out;
}

std::vector<std::string> names_of_steps(const plan::GraphPlan &plan) {
    std::vector<std::string> out;
    for (const plan::Step &step : plan.steps) out.push_back(step.name);
    return out;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("fusions are found in a block, those of the most layers first") {
    Block block;
    const std::vector<Match> found = block.matches();
    REQUIRE(types_of(found) == Names{"rms_norm_linears", "linears", "rotary_attention", "rms_norm_feed_forward"});
    CHECK(found[0].steps == std::vector<size_t>{0, 1, 2, 3});
    CHECK(found[0].fused.replaces == Names{"norm", "q", "k", "v"});
    CHECK(found[1].steps == std::vector<size_t>{1, 2, 3});
    CHECK(overlap(found[0], found[1]));
    CHECK_FALSE(overlap(found[0], found[2]));
    CHECK(types_of(find(block.plan(), *built_plugins(), [](const abi::Layer &l) { return l.id() == "linears"; })) ==
          Names{"linears"});
}

TEST_CASE("a graph with fusions computes the same, and has no tensor that nobody takes") {
    Block block;
    const plan::GraphPlan plain = block.plan(), fused = block.fused();
    CHECK(names_of_steps(fused) == Names{"norm", "q_rotary", "out", "second_norm"});
    const auto same = [](const Tensor &a, const Tensor &b) { return std::ranges::equal(a.bytes(), b.bytes()); };
    CHECK(std::ranges::equal(block.run(plain), block.run(fused), same));
    Names names;
    for (const plan::PlannedTensor &tensor : fused.tensors)
        if (tensor.kind == plan::PlannedTensor::Kind::activation) names.push_back(tensor.name);
    CHECK(names == Names{"q", "k", "v", "attention", "out", "feed_forward"});
    CHECK(fused.inputs.size() == plain.inputs.size());
    CHECK(fused.tensors[static_cast<size_t>(fused.outputs.at("y"))].output);
}

TEST_CASE("the order in which a graph lists its layers does not matter") {
    Block block;
    const std::vector<Tensor> expected = block.run(block.plan());
    block.move("k", "q");
    block.move("q_rotary", "v"); // it takes what the fusion gives, before the fusion has all layers
    block.move("k_rotary", "q_rotary");
    REQUIRE(names_of_steps(block.plan())[3] == "k_rotary");
    const plan::GraphPlan fused = block.fused();
    CHECK(fused.steps.size() == 4);
    const auto same = [](const Tensor &a, const Tensor &b) { return std::ranges::equal(a.bytes(), b.bytes()); };
    CHECK(std::ranges::equal(block.run(fused), expected, same));
}

TEST_CASE("a tensor that others take, or that the graph gives, stays, and so do the layers around it") {
    Block block;
    SECTION("it is an output of the graph") { block.graph.outputs["normalized"] = "norm"; }
    SECTION("another layer takes it") {
        block.add("other", "activation", {{"x", "norm"}});
        block.graph.outputs["other"] = "other";
    }
    CHECK(types_of(block.matches()) == Names{"linears", "rotary_attention", "rms_norm_feed_forward"});
    CHECK(block.fused().steps.size() == block.plan().steps.size() - 5);
}

TEST_CASE("a fusion needs the parameters, tensors and ports of its layers to be as in its pattern") {
    Block block;
    Names expected{"rms_norm_linears", "linears", "rotary_attention", "rms_norm_feed_forward"};
    SECTION("another value where the pattern has a default") {
        block.node("norm").params["groups"] = 2.0;
        block.weights["norm.weight"] = Tensor(TensorType{DType::f32, {4}});
        expected = {"linears", "rotary_attention", "rms_norm_feed_forward"};
    }
    SECTION("two values for one parameter of the fusion") {
        block.node("k_rotary").params["layout"] = std::string("halves");
        expected = {"rms_norm_linears", "linears", "rms_norm_feed_forward"};
    }
    SECTION("two tensors for one weight of the fusion") {
        block.node("k_rotary").weights.clear();
        expected = {"rms_norm_linears", "linears", "rms_norm_feed_forward"};
    }
    SECTION("an input that the pattern does not have") {
        block.node("q").inputs["residual"] = "x";
        expected = {"rotary_attention", "rms_norm_feed_forward"};
    }
    SECTION("an input that is left out in one of two layers") {
        block.node("q_rotary").inputs.erase("position");
        expected = {"rms_norm_linears", "linears", "rms_norm_feed_forward"};
    }
    SECTION("a dtype that the fusion does not take is found where its layers take it, too") {
        block.weights["q.weight"] = Tensor(TensorType{DType::bf16, {8, 8}});
    }
    CHECK(types_of(block.matches()) == expected);
}

TEST_CASE("of many layers with the same input, each is in one match") {
    Block block;
    for (int i = 0; i < 7; ++i) {
        const std::string name = "more" + std::to_string(i);
        block.add(name, "linear", {{"x", "norm"}});
        block.node(name).weights["weight"] = "q.weight";
        block.graph.outputs[name] = name;
    }
    const std::vector<Match> found = block.matches();
    REQUIRE(types_of(found) == Names{"linears", "linears", "linears", "rotary_attention", "rms_norm_feed_forward"});
    std::vector<size_t> all;
    for (size_t m = 0; m < 3; ++m) all.insert(all.end(), found[m].steps.begin(), found[m].steps.end());
    std::ranges::sort(all);
    CHECK(std::ranges::adjacent_find(all) == all.end());
    CHECK(block.fused().steps.size() == block.plan().steps.size() - 9);
}

TEST_CASE("steps wait for what a fusion computes, and a fusion that would wait for itself is none") {
    Block block;
    const plan::GraphPlan plan = block.plan();
    const auto match = [&](std::vector<size_t> steps) {
        Match out = block.matches().front();
        out.steps = std::move(steps);
        return std::vector{out};
    };
    const auto order_of = [&](const std::vector<Match> &matches) {
        std::vector<size_t> out; // 100: the match
        const auto places = order(plan, matches);
        if (places)
            for (const Place &place : *places) out.push_back(place.is_match ? 100 : place.index);
        return out;
    };
    CHECK(order_of(match({1, 3})) == std::vector<size_t>{0, 2, 100, 4, 5, 6, 7, 8, 9}); // q and v
    CHECK(order_of(match({0, 4})).empty());                                             // norm and q_rotary, without q
    CHECK(order_of(match({2, 4})) == std::vector<size_t>{0, 1, 3, 100, 5, 6, 7, 8, 9}); // k and q_rotary
    std::vector<Match> two = match({1, 5});                                             // q and k_rotary ...
    two.push_back(match({2, 4}).front()); // ... need k, and q_rotary with k needs q
    CHECK(order_of(two).empty());
}
