// Indices that a layer computes: what may be done with them, and when a choice of them is as good as another.
#include "catch.hpp"
#include "wrong_layers.hpp"

#include <cmath>
#include <set>

using namespace lamina;
using namespace test;

namespace {

// `layers`, of an input x (B, T).
ModelDescription model_with(const std::string &layers, const char *output,
                            std::map<std::string, Tensor, std::less<>> weights) {
    return {.name = "chosen",
            .json = R"({"format": "lamina/1", "name": "chosen", "summary": "", "graphs": {"run": {
                "inputs": {"x": {"dtype": "f32", "dims": "B T"}}, "layers": [)" +
                    layers + R"(], "outputs": {"y": ")" + output + R"("}}}})",
            .weights = std::move(weights),
            .vocabularies = {}};
}

const std::string chooser = R"({"name": "ids", "type": "chooser", "inputs": {"x": "x"}}, )";

} // namespace

TEST_CASE("a layer indexes with what another computes only if that one declares a range, and no larger one") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto refusal = [&](const std::string &layer, int64_t rows) {
        return message_of([&] {
            (void)runtime.load(model_with(R"({"name": "ids", "type": ")" + layer + R"(", "inputs": {"x": "x"}},
                {"name": "found", "type": "embedding", "inputs": {"ids": "ids"}})",
                                          "found", {{"found.table", Tensor({DType::f32, {rows, 8}})}}));
        });
    };
    CHECK_THAT(refusal("index_of", 5), matchers::contains("layer 'found': input 'ids': expected values from 0 to 4"));
    CHECK_THAT(refusal("index_of", 5),
               matchers::contains("'ids', which a layer computes, with no range of values in its contract"));
    // The number of columns of x is not known.
    CHECK_THAT(refusal("chooser", 5), matchers::contains("with values from 0 to T-1"));

    const std::string router = R"({"name": "logits", "type": "linear", "inputs": {"x": "x"}},
        {"name": "router", "type": "router", "params": {"k": 2}},
        {"name": "found", "type": "embedding", "inputs": {"ids": "router"}})";
    const auto load = [&](int64_t experts, int64_t rows) {
        return runtime.load(model_with(
            router, "found",
            {{"logits.weight", Tensor({DType::f32, {experts, 3}})}, {"found.table", Tensor({DType::f32, {rows, 8}})}}));
    };
    CHECK_NOTHROW((void)load(5, 5));
    CHECK_NOTHROW((void)load(5, 6));
    CHECK_THAT(message_of([&] { (void)load(6, 5); }),
               matchers::contains("expected values from 0 to 4") && matchers::contains("with values from 0 to 5"));
}

TEST_CASE("a variant may choose otherwise where scores are nearly equal, and nowhere else") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    std::set<std::string> failed;
    std::string outside;
    for (const CaseResult &r : check(runtime, *device, {.layers = {"chooser"}, .own_cases_only = true}).results) {
        if (r.status != CaseResult::Status::failed) continue;
        failed.insert(r.variant);
        if (r.variant == "outside") outside = r.why;
    }
    CHECK(failed == std::set<std::string>{"worse", "twice", "outside"});
    const CheckReport equal =
        check(runtime, *device, {.layers = {"chooser"}, .variants = {"rounded"}, .case_text = "B=9 E=5 x=equal"});
    REQUIRE(equal.results.size() == 1);
    CHECK(equal.results.front().status == CaseResult::Status::passed);
}

TEST_CASE("compare follows the choice of the running model, and says where it is not the reference's") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    Tensor table({DType::f32, {6, 8}}); // another choice changes everything
    for (size_t i = 0; i < table.f32().size(); ++i) {
        const size_t row = i / 8;
        table.f32()[i] = static_cast<float>(row + 1);
    }
    ModelDescription description = model_with(
        chooser + R"({"name": "y", "type": "embedding", "inputs": {"ids": "ids"}})", "y", {{"y.table", table}});
    description.json.replace(description.json.find("B T"), 3, "B 6");
    const Model model = runtime.load(description);
    const std::vector<float> x{0, 3, 1 + 0x1p-20F, 0.5F, 1, 0.25F, 6, 5, 4, 3, 2, 1};
    const auto compared = [&](const char *variant) {
        CompareOptions how;
        how.inputs = {{"x", Tensor::of({2, 6}, std::span(x))}};
        how.variants = {{"chooser", variant}};
        return compare(runtime, model, *device, how);
    };
    const Comparison right = compared("baseline"), rounded = compared("rounded"), worse = compared("worse");
    CHECK(right.agrees());
    CHECK(right.layers.front().other_choices == 0);
    CHECK(rounded.agrees());
    CHECK(rounded.layers.front().other_choices == 1); // of two rows
    CHECK(std::abs(rounded.layers.front().least_margin + 0x1p-20) < 1e-9);
    for (const LayerComparison &layer : rounded.layers) CHECK(layer.accumulated.passed);
    REQUIRE(worse.first_wrong() != nullptr);
    CHECK(worse.first_wrong()->layer == "ids");
    CHECK(worse.layers.front().other_choices == 2);
}
