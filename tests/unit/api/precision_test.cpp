// SessionOptions::precision: which kernels a session on the CPU may use.
#include <lamina/measure.hpp>
#include <lamina/proof.hpp>

#include "catch.hpp"
#include "places.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

using namespace lamina;

namespace {

constexpr int64_t width = 64, rows = 9;

// Two products, of weights in blocks and of weights in f32.
Model products_in(const Runtime &runtime) {
    Tensor wide(TensorType{DType::f32, {width, width}}), blocks(TensorType{DType::q4_0, {width, width}});
    for (size_t i = 0; i < wide.f32().size(); ++i) wide.f32()[i] = std::sin(static_cast<float>(i)) / 8;
    storage_of(DType::q4_0).narrow(wide.f32().data(), width * width / 32, blocks.bytes().data());
    return runtime.load(ModelDescription{.name = "products",
                                         .json = R"({"format": "lamina/1", "name": "products", "summary": "", "graphs":
        {"run": {"inputs": {"x": {"dtype": "f32", "dims": "B 64"}},
                 "layers": [{"name": "a", "type": "linear", "inputs": {"x": "x"}, "weights": {"weight": "blocks"}},
                            {"name": "b", "type": "linear", "inputs": {"x": "a"}, "weights": {"weight": "wide"}}],
                 "outputs": {"b": "b"}}}})",
                                         .weights = {{"blocks", blocks}, {"wide", wide}},
                                         .vocabularies = {}});
}

Tensor numbers() {
    Tensor x(TensorType{DType::f32, {rows, width}});
    for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = std::cos(static_cast<float>(i * i % 1009));
    return x;
}

} // namespace

TEST_CASE("a session's precision admits less exact kernels, where weights have a dtype that they are for") {
    const Runtime runtime({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    const Model model = products_in(runtime);
    std::map<Precision, Tensor> found;
    std::map<std::string, std::string> variants; // of the last run, by layer
    for (const Precision precision : {Precision::full, Precision::half, Precision::int8}) {
        SessionOptions how;
        how.precision = precision;
        how.profile = [&](const GraphTimes &times) {
            for (const LayerTime &layer : times.layers) variants[layer.layer] = layer.variant;
        };
        found.emplace(precision,
                      runtime.session(model, runtime.device("cpu"), how).run("run", {{"x", numbers()}}).at("b"));
        CHECK(variants.at("a") == (precision == Precision::full   ? "cpu_fallback"
                                   : precision == Precision::half ? "cpu_fallback_f16"
                                                                  : "cpu_fallback_q8_0"));
        CHECK(variants.at("b") == "cpu_fallback");
    }
    const auto apart = [&](Precision a, Precision b) {
        double out = 0;
        for (size_t i = 0; i < found.at(a).f32().size(); ++i)
            out = std::max(out, std::fabs(double{found.at(a).f32()[i]} - found.at(b).f32()[i]));
        return out;
    };
    CHECK(apart(Precision::full, Precision::half) > 0);
    CHECK(apart(Precision::full, Precision::half) < 1e-4);
    CHECK(apart(Precision::full, Precision::int8) > 4 * apart(Precision::full, Precision::half));
    CHECK(apart(Precision::full, Precision::int8) < 0.05);
}

TEST_CASE("a comparison judges by the tolerance of the variant that ran") {
    const Runtime runtime({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    const Model model = products_in(runtime);
    const auto compared = [&](const CompareOptions &how) {
        const Comparison out = compare(runtime, model, runtime.device("cpu"), how);
        REQUIRE(out.layers.size() == 2);
        CHECK(out.agrees());
        return out.layers.front();
    };
    CompareOptions how;
    how.inputs = {{"x", numbers()}};
    const LayerComparison full = compared(how);
    how.precision = Precision::int8;
    const LayerComparison int8 = compared(how);
    CHECK(full.variant == "cpu_fallback");
    CHECK(int8.variant == "cpu_fallback_q8_0");
    CHECK(int8.own.error > 100 * full.own.error);
    how.variants = {{"linear", "cpu_fallback_q8_0"}}; // of both layers
    CHECK_THAT(message_of([&] { (void)compared(how); }),
               matchers::contains("layer 'b': variant 'cpu_fallback_q8_0' was requested, but it does not fit"));
}

TEST_CASE("precisions have names") {
    for (size_t i = 0; i < precision_names.size(); ++i)
        CHECK(precision_named(precision_names.at(i)) == static_cast<Precision>(i));
    CHECK_THROWS_AS(precision_named("f16"), Error);
}
