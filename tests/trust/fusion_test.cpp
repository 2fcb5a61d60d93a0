// Fusions are trusted no more than other kernels: one that computes something else than the layers that it replaces is
// barred, and those run.
#include "catch.hpp"
#include "wrong_layers.hpp"

#include <lamina/measure.hpp>
#include <lamina/plugins.hpp>

#include <algorithm>
#include <set>

using namespace lamina;
using namespace test;

namespace {

// x -> softmax -> activation -> dropout
ModelDescription active_model(const std::string &activation) {
    return {.name = "active",
            .json = R"({"format": "lamina/1", "name": "active", "summary": "", "graphs": {"run": {
                "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
                "layers": [{"name": "first", "type": "softmax", "inputs": {"x": "x"}},
                           {"name": "second", "type": "activation", "params": {"activation": ")" +
                    activation + R"("}}, {"name": "third", "type": "dropout"}],
                "outputs": {"y": "third"}}}})",
            .weights = {},
            .vocabularies = {}};
}

const TensorMap given{{"x", ramp(3, 40)}};

// The types of the layers that a session runs, and its result.
struct Ran {
    std::set<std::string> types;
    Tensor y;
};
Ran run(const Runtime &runtime, const Device &device, const std::string &activation, SessionOptions options) {
    Ran out;
    options.profile = [&](const GraphTimes &times) {
        for (const LayerTime &layer : times.layers) out.types.insert(layer.type);
    };
    out.y = runtime.session(runtime.load(active_model(activation)), device, options).run("run", given).at("y");
    return out;
}

} // namespace

TEST_CASE("a fusion that computes something else than its layers is barred, and they run") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Tensor expected = run(runtime, runtime.device("reference"), "relu", {}).y;
    const Ran plain = run(runtime, *device, "relu", {});
    CHECK(agree(plain.y, expected));
    CHECK(plain.types == std::set<std::string>{"softmax", "activation", "dropout"});
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], matchers::contains("layer 'fused_relu': variant 'baseline' is barred on " + device->name));

    SessionOptions asked;
    asked.variants["fused_relu"] = "baseline";
    CHECK_THAT(message_of([&] { (void)run(runtime, *device, "relu", asked); }),
               matchers::contains("'second' to 'third', fused") && matchers::contains("failed its proof"));
    asked.fusion = false;
    CHECK(agree(run(runtime, *device, "relu", asked).y, expected));

    const CheckReport report =
        check(runtime, *device, {.layers = {"fused_relu", "fused_silu"}, .own_cases_only = true});
    for (const CaseResult &r : report.results)
        CHECK((r.status == CaseResult::Status::failed) == (r.layer == "fused_relu"));
}

TEST_CASE("a fusion that is right runs where it is asked for, and never where each layer is to be seen") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Tensor expected = run(runtime, runtime.device("reference"), "silu", {}).y;
    SessionOptions asked;
    asked.variants["fused_silu"] = "baseline";
    const Ran fused = run(runtime, *device, "silu", asked);
    CHECK(agree(fused.y, expected));
    CHECK(fused.types == std::set<std::string>{"softmax", "fused_silu"});
    CHECK(run(runtime, *device, "gelu", asked).types.size() == 3); // its pattern has another activation

    // What is proved is also measured beside the layers apart; which of the two is faster depends on the machine.
    const Ran chosen = run(runtime, *device, "silu", {});
    CHECK(agree(chosen.y, expected));
    CHECK(chosen.types.contains("fused_silu") != chosen.types.contains("activation"));

    SessionOptions plain = asked;
    SECTION("a variant of one of its layers is asked for") { plain.variants = {{"activation", "baseline"}}; }
    SECTION("fusions are refused") { plain.fusion = false; }
    SECTION("all tensors are kept") {
        plain.keep_all = true;
        Session session = runtime.session(runtime.load(active_model("silu")), *device, plain);
        CHECK(session.run("run", given, {"second"}).contains("second"));
    }
    CHECK(run(runtime, *device, "silu", plain).types == std::set<std::string>{"softmax", "activation", "dropout"});
    CHECK(notices.empty());
}

TEST_CASE("compare names a fusion that is wrong, and takes the layers apart if asked to") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Model model = runtime.load(active_model("relu"));
    CompareOptions options;
    options.inputs = given;
    options.variants["fused_relu"] = "baseline";
    options.replay_folder = cache.path() / "replay";
    const Comparison comparison = compare(runtime, model, *device, options);
    REQUIRE(comparison.layers.size() == 2);
    REQUIRE(comparison.first_wrong() != nullptr);
    CHECK(comparison.first_wrong()->type == "fused_relu");
    CHECK_THAT(comparison.summary(), matchers::contains("layer 'second'") && matchers::contains("fused_relu"));
    // It is wrong alone, too, on what was saved.
    const CheckReport report = check(runtime, *device, {.replay = comparison.replay});
    REQUIRE(report.results.size() == 1);
    CHECK(report.results[0].status == CaseResult::Status::failed);

    options.fusion = false;
    CHECK(compare(runtime, model, *device, options).layers.size() == 3);
    CHECK(compare(runtime, model, *device, options).agrees());
}

TEST_CASE("a model does not name a fusion, which says what it replaces") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    CHECK_THAT(message_of([&] { (void)runtime.load(model_of("fused_silu")); }),
               matchers::contains("layer 'second'") &&
                   matchers::contains("'fused_silu' is a fusion of activation, dropout") &&
                   matchers::contains("write these layers instead"));
    CHECK(layer_contract(runtime, "fused_silu").fuses == std::vector<std::string>{"activation", "dropout"});
    CHECK(layer_contract(runtime, "activation").fuses.empty());
}
