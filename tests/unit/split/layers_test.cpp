// What a model can be divided into, and how it is.
#include "catch.hpp"
#include "places.hpp"
#include "split/layers.hpp"

#include <algorithm>

using namespace lamina;
using namespace lamina::split;
using matchers::contains;

namespace {

const std::shared_ptr<const abi::Registry> &registry() {
    static const std::shared_ptr<const abi::Registry> plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return plugins;
}

Layers of_json(const std::string &layers) {
    const auto model = model::Model::parse(
        R"({"format": "lamina/1", "name": "test", "graphs": {"main": {"inputs": {"x": {"dtype": "f32", "dims": "B 4"}}, "layers": [
            {"type": "activation", "name": "first", "inputs": {"x": "x"}}, )" +
            layers + R"(], "outputs": {"y": "last"}}}})",
        {}, {}, "test");
    return layers_of(*model, *registry(), DType::f32);
}

std::vector<std::string> names(const Layers &layers) {
    std::vector<std::string> out;
    for (const Layer &layer : layers.all) out.push_back(layer.name);
    return out;
}

// Layers with weights of so many bytes each, and one that all share.
Layers sized(const std::vector<uint64_t> &bytes, uint64_t shared = 0, uint64_t caches = 0) {
    Layers out;
    for (size_t i = 0; i < bytes.size(); ++i)
        out.all.push_back({std::to_string(i), {{"own" + std::to_string(i), bytes[i]}, {"shared", shared}}, caches});
    return out;
}

using Counts = std::vector<size_t>;
using Rooms = std::vector<std::optional<uint64_t>>;

} // namespace

TEST_CASE("layers: those of g2p, and what belongs to them") {
    const auto model = model::Model::load(LAMINA_SOURCE_DIR "/models/g2p");
    const Layers layers = layers_of(*model, *registry(), DType::f32);
    CHECK(names(layers) == std::vector<std::string>{"encoder.0", "encoder.1", "encoder.2", "encoder.3", "decoder.0",
                                                    "decoder.1", "decoder.2", "decoder.3"});
    for (const auto &[node, layer] : std::map<std::string, size_t>{{"encoder.embedding", 0},
                                                                   {"encoder.2.attention.query", 2},
                                                                   {"encoder.norm", 3},
                                                                   {"decoder.1.source_attention.key", 5},
                                                                   {"decoder.embedding", 4},
                                                                   {"generator", 7}}) {
        INFO(node);
        CHECK(layers.of_node.at(node) == layer);
    }
    uint64_t weights = 0;
    for (const auto &[name, entry] : model->weights.entries()) weights += entry.type.bytes();
    CHECK(divide(layers, Counts{8}, 1).weights == std::vector<uint64_t>{weights});
    CHECK(layers.all[3].caches == 0);
    CHECK(layers.all[4].caches == 2u * 160 * 4 * static_cast<uint64_t>(layers.tokens)); // keys and values
    const Layers halves = layers_of(*model, *registry(), DType::f16);
    CHECK(halves.all[4].caches * 2 == layers.all[4].caches);
}

TEST_CASE("layers: names count up to their first number, and without any each node is one") {
    const auto act = [](const std::string &name) { return R"({"type": "activation", "name": ")" + name + R"("})"; };
    CHECK(names(of_json(act("blocks.0.part.1.a") + "," + act("blocks.0.part.2.b") + "," + act("between") + "," +
                        act("blocks.11") + "," + act("last"))) == std::vector<std::string>{"blocks.0", "blocks.11"});
    const Layers plain = of_json(act("a1") + "," + act("b") + "," + act("last"));
    CHECK(names(plain) == std::vector<std::string>{"first", "a1", "b", "last"});
}

TEST_CASE("layers: each device gets as many as it has room for, in order, and the last one the rest") {
    CHECK(fill(sized({90, 90, 90, 90}), Rooms{200, 100, std::nullopt}).counts == Counts{2, 1, 1});
    CHECK(fill(sized({90, 90, 90, 90}), Rooms{198, 100, 0}).counts == Counts{1, 1, 2});
    CHECK(fill(sized({90, 90}), Rooms{std::nullopt, 100}).counts == Counts{2, 0});
    CHECK(fill(sized({90, 90}), Rooms{0, 500}).counts == Counts{0, 2});
    CHECK(fill(sized({50, 50, 50}, 0, 40), Rooms{200, 0}).counts == Counts{2, 1});
    // A weight that several layers share is on each of their devices, once.
    const Division shared = fill(sized({10, 10, 10, 10}, 70), Rooms{100, 500});
    CHECK(shared.counts == Counts{2, 2});
    CHECK(shared.weights == std::vector<uint64_t>{90, 90});
    // Sizes of a file may be absurd.
    CHECK(fill(sized({uint64_t{1} << 62, 1}), Rooms{100, 100}).counts == Counts{0, 2});
}

TEST_CASE("layers: a split that does not fit the model or the devices says what would") {
    const Layers layers = sized({1, 1, 1});
    CHECK(divide(layers, Counts{0, 3}, 2).counts == Counts{0, 3});
    const auto refusal = [&](const Counts &counts) { return message_of([&] { (void)divide(layers, counts, 2); }); };
    for (const Counts &wrong : {Counts{1, 1}, Counts{1, 1, 1}, Counts{3}, Counts{SIZE_MAX, 4}, Counts{4, 0}})
        CHECK_THAT(refusal(wrong), contains("expected 2, one for each device, and 3 in all: the model's layers are 0"));
}

TEST_CASE("layers: the steps of a plan are where their layers are, and others where the step before them is") {
    const auto model = model::Model::load(LAMINA_SOURCE_DIR "/models/g2p");
    const Layers layers = layers_of(*model, *registry(), DType::f32);
    const plan::GraphPlan plan =
        plan::plan_graph(*model, model->graphs.at("encode"), *registry(),
                         {.inputs = {{"letters", {DType::i32, {1, 4}}}, {"lengths", {DType::i32, {1}}}}});
    const std::vector<size_t> devices = devices_of(plan, layers, divide(layers, Counts{2, 0, 4, 2}, 4));
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        INFO(plan.steps[s].name);
        const size_t layer = layers.of_node.at(plan.steps[s].name);
        CHECK(devices[s] == (layer < 2 ? 0 : layer < 6 ? 2 : 3));
    }
    plan::GraphPlan with_another = plan;
    with_another.steps.push_back(plan.steps.back());
    with_another.steps.back().name = "candidates";
    CHECK(devices_of(with_another, layers, divide(layers, Counts{8, 0}, 2)).back() == 0);
    CHECK(devices_of(with_another, layers, divide(layers, Counts{0, 8}, 2)).back() == 1);
}
