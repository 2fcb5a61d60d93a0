// Cases like a step of a model: small enough to run, and computed in the same way as the step.
#include "admission/step_case.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <algorithm>
#include <span>

using namespace lamina;
using namespace lamina::admission;
using conformance::Case;

namespace {

const abi::Layer &layer(const char *id) {
    static const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return plugins->layer(id);
}
Case parse(const char *id, std::string_view text) { return conformance::parse_case(*layer(id).contract, text); }
std::vector<std::string> like(
    const char *id, std::string_view text, plan::Device::Limits most,
    const Alike &alike = [](const abi::LayerCall &) { return true; }) {
    std::vector<std::string> out;
    for (const Case &c : cases_like(conformance::call_of(layer(id), parse(id, text)), most, alike).cases)
        out.push_back(to_string(c));
    return out;
}

} // namespace

TEST_CASE("the cases like a step have its rank, dtypes and columns, and with states other positions") {
    const auto whole = like("linear", "...=2x3x4 K=512 +bias weights=f16 bias=f32", {1e8, 1e9});
    REQUIRE(whole.size() == 1);
    for (const char *part : {"...=2x3x4", "K=512", "+bias", "weights=f16", "bias=f32"})
        CHECK_THAT(whole[0], matchers::contains(part));
    const auto halved = like("layer_norm", "...=64x128 C=512", {1e8, 1e6});
    REQUIRE(halved.size() == 1);
    CHECK_THAT(halved[0], matchers::contains("C=512")); // rows are halved first
    CHECK(halved[0].find("64x128") == std::string::npos);
    const auto cached =
        like("attention", "B=2 Tq=1 Tk=1 M=16 D=8 heads=4 +v +position +key_cache +value_cache", {1e8, 1e9});
    REQUIRE(cached.size() == 4);
    CHECK_THAT(cached[2], matchers::contains("position=zeros"));
    CHECK_THAT(cached[3], matchers::contains("position=one"));
}

TEST_CASE(
    "a step that takes the reference too long has a case of its own size, of which a sample of rows is compared") {
    const auto cases = like("linear", "B=64 K=512 N=32000", {1e8, 1e9});
    REQUIRE(cases.size() == 1);
    for (const char *part : {"...=64", "K=512", "N=32000", "sample=8"}) CHECK_THAT(cases[0], matchers::contains(part));
    const auto spectrogram = like("log_mel", "B=64 T=300", {1e8, 1e9}); // its rows depend on each other
    REQUIRE(spectrogram.size() == 1);
    CHECK(spectrogram[0].find("sample=") == std::string::npos);
    CHECK(spectrogram[0].find("B=64") == std::string::npos);
}

TEST_CASE("a step that is too large gets a smaller case, even if sizes depend on each other") {
    for (const char *text : {
             "B=1 Tq=1024 Tk=1024 D=64 heads=8 causal=1 +v",
             "B=8 Tq=64 Tk=640 D=64 heads=12 +v",
             "B=8 Tq=8 Tk=8 M=2048 D=64 heads=8 +v +position +key_cache +value_cache",
             "B=64 Tq=1 Tk=1 M=8192 D=64 heads=8 +v +position +key_cache +value_cache",
         }) {
        INFO(text);
        const auto cases = like("attention", text, {1e8, 2e5});
        REQUIRE_FALSE(cases.empty());
        const abi::LayerCall call = conformance::call_of(layer("attention"), parse("attention", cases[0]));
        CHECK(conformance::values_of(call) <= 2e5);
        CHECK(call.size("D").value() >= 64);
    }
}

TEST_CASE("a smaller case runs the same kernels as the step, if possible") {
    const auto rows = [](const abi::LayerCall &call) { return call.types(abi::PortList::in)[0].shape[0]; };
    const auto from_16_rows = [&](const abi::LayerCall &call) { return rows(call) >= 16; };
    const auto cases = like("linear", "B=64 K=512 N=32000", {1e8, 1.72e7}, from_16_rows);
    REQUIRE(cases.size() == 1);
    const abi::LayerCall call = conformance::call_of(layer("linear"), parse("linear", cases[0]));
    CHECK(rows(call) == 16);
    CHECK(conformance::values_of(call) <= 1.72e7);
    const auto never = [](const abi::LayerCall &) { return false; };
    const auto with = [&](const char *text) {
        return cases_like(conformance::call_of(layer("linear"), parse("linear", text)), {1e8, 2e6}, never);
    };
    CHECK(with("B=8 K=512 N=32000").alike); // expensive, but it tests what will run
    CHECK_FALSE(with("B=64 K=512 N=320000").alike);
    CHECK(conformance::values_of(conformance::call_of(layer("linear"), with("B=64 K=512 N=320000").cases.at(0))) <=
          2e7);
}

TEST_CASE("the case like a step has all its types and parameters, in every layer") {
    static const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const auto same = [](const abi::LayerCall &x, const abi::LayerCall &y) {
        for (const auto list : {abi::PortList::in, abi::PortList::weight, abi::PortList::state, abi::PortList::out})
            if (x.types(list) != y.types(list)) return false;
        return std::ranges::equal(x.params(), y.params());
    };
    const auto check = [&](const abi::Layer &of, std::string_view text) {
        INFO(of.id() << ": " << text);
        const abi::LayerCall step = conformance::call_of(of, conformance::parse_case(*of.contract, text));
        const auto cases = cases_like(step, {1e18, 1e18}, [](const abi::LayerCall &) { return true; }).cases;
        REQUIRE_FALSE(cases.empty());
        CHECK(same(conformance::call_of(of, cases.front()), step));
    };
    for (const auto &[id, each] : plugins->layers())
        for (const char *text : std::span(each.contract->cases, each.contract->n_cases)) check(each, text);
    // The first weight is f32, and others are not.
    check(layer("rms_norm_linears"), "B=1 T=2 K=64 Nq=9 Nk=3 Nv=7 +norm_weight weights=f16 norm_weight=f32");
    check(layer("linears"), "B=1 T=2 K=64 Nq=9 Nk=3 Nv=7 weights=bf16 q_weight=f32 v_weight=f16");
}

TEST_CASE("the case like a step gives ports the values that have a meaning there") {
    const auto cases =
        like("attention", "B=1 Tq=1 Tk=1 M=2048 D=64 heads=16 causal=1 +v +position +key_cache +value_cache +slopes",
             {1e8, 1e9});
    REQUIRE(cases.size() == 4);
    CHECK_THAT(cases[0], matchers::contains("slopes=positive"));
    CHECK(cases[0].find("sinks=") == std::string::npos);
    CHECK_FALSE(conformance::usual_values(*layer("layer_norm").contract, "bias").has_value()); // some cases name none
}
