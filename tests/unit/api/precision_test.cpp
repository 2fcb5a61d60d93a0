// SessionOptions::precision: which kernels a session on the CPU may use.
#include <lamina/measure.hpp>
#include <lamina/proof.hpp>

#include "catch.hpp"
#include "places.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

using namespace lamina;

namespace {

constexpr int64_t width = 64, rows = 8; // so few that every processor multiplies them as integers

// A product of weights in blocks, and if `two`, one of weights in f32 after it.
Model products_in(const Runtime &runtime, bool two) {
    Tensor wide(TensorType{DType::f32, {width, width}}), blocks(TensorType{DType::q4_0, {width, width}});
    for (size_t i = 0; i < wide.f32().size(); ++i) wide.f32()[i] = std::sin(static_cast<float>(i)) / 8;
    storage_of(DType::q4_0).narrow(wide.f32().data(), width * width / 32, blocks.bytes().data());
    ModelDescription out{.name = "products", .json = {}, .weights = {{"blocks", blocks}}, .vocabularies = {}};
    std::string layers = R"({"name": "a", "type": "linear", "inputs": {"x": "x"}, "weights": {"weight": "blocks"}})";
    if (two) {
        out.weights.emplace("wide", wide);
        layers += R"(, {"name": "b", "type": "linear", "inputs": {"x": "a"}, "weights": {"weight": "wide"}})";
    }
    out.json = R"({"format": "lamina/1", "name": "products", "summary": "", "graphs": {"run": {
        "inputs": {"x": {"dtype": "f32", "dims": "B 64"}}, "layers": [)" +
               layers + (two ? R"(], "outputs": {"b": "b"}}}})" : R"(], "outputs": {"a": "a"}}}})");
    return runtime.load(out);
}

Tensor numbers() {
    Tensor x(TensorType{DType::f32, {rows, width}});
    for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = std::cos(static_cast<float>(i * i % 1009));
    return x;
}

} // namespace

// Which of them runs is measured, and small products may be fastest with any.
TEST_CASE("a session's precision admits less exact kernels, where weights have a dtype that they are for") {
    const std::map<Precision, std::set<std::string>> allowed = {
        {Precision::full, {"cpu_fallback"}},
        {Precision::half, {"cpu_fallback", "cpu_fallback_f16"}},
        {Precision::int8, {"cpu_fallback", "cpu_fallback_q8_0"}}};
    for (const auto &[precision, names] : allowed) {
        INFO("precision " << precision_names.at(static_cast<size_t>(precision)));
        std::set<std::string> proved;
        const Runtime runtime(
            {.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false, .proving = [&](const auto &title) {
                 const size_t name = title.find(", ") + 2;
                 if (!title.empty()) proved.insert(title.substr(name, title.find(':') - name));
             }});
        std::map<std::string, std::string> variants; // of the last run, by layer
        SessionOptions how;
        how.precision = precision;
        how.profile = [&](const GraphTimes &times) {
            for (const LayerTime &layer : times.layers) variants[layer.layer] = layer.variant;
        };
        (void)runtime.session(products_in(runtime, true), runtime.device("cpu"), how).run("run", {{"x", numbers()}});
        CHECK(proved == names);
        CHECK(names.contains(variants.at("a")));
        CHECK(variants.at("b") == "cpu_fallback");
    }
}

TEST_CASE("kernels of a lower precision are as exact as it says") {
    const Runtime runtime({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    const Model model = products_in(runtime, false);
    const auto found = [&](const char *variant) {
        SessionOptions how;
        how.variants = {{"linear", variant}};
        return runtime.session(model, runtime.device("cpu"), how).run("run", {{"x", numbers()}}).at("a");
    };
    const Tensor full = found("cpu_fallback");
    const auto from_full = [&](const char *variant) {
        const Tensor other = found(variant);
        double out = 0;
        for (size_t i = 0; i < full.f32().size(); ++i)
            out = std::max(out, std::fabs(double{full.f32()[i]} - other.f32()[i]));
        return out;
    };
    const double half = from_full("cpu_fallback_f16"), int8 = from_full("cpu_fallback_q8_0");
    CHECK(half > 0);
    CHECK(half < 1e-4);
    CHECK(int8 > 4 * half);
    CHECK(int8 < 0.05);
}

TEST_CASE("a comparison judges by the tolerance of the variant that ran") {
    const Runtime runtime({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    CompareOptions how;
    how.inputs = {{"x", numbers()}};
    const auto compared = [&](bool two, const char *variant) {
        how.variants = {{"linear", variant}};
        const Comparison out = compare(runtime, products_in(runtime, two), runtime.device("cpu"), how);
        CHECK(out.agrees());
        CHECK(out.layers.front().variant == variant);
        return out.layers.front().own.error;
    };
    const double full = compared(false, "cpu_fallback"), int8 = compared(false, "cpu_fallback_q8_0");
    CHECK(int8 > 100 * full);
    CHECK_THAT(message_of([&] { (void)compared(true, "cpu_fallback_q8_0"); }),
               matchers::contains("layer 'b': variant 'cpu_fallback_q8_0' was requested, but it does not fit"));
}

TEST_CASE("precisions have names") {
    for (size_t i = 0; i < precision_names.size(); ++i)
        CHECK(precision_named(precision_names.at(i)) == static_cast<Precision>(i));
    CHECK_THROWS_AS(precision_named("f16"), Error);
}
