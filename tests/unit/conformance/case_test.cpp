// Conformance cases as text: the printed text replays the case.
#include "conformance/case.hpp"
#include "conformance/case_generator.hpp"
#include "conformance/case_graph.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <bit>
#include <functional>

using namespace lamina;
using namespace lamina::conformance;

namespace {

const abi::Layer &layer(const char *id) {
    static const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return plugins->layer(id);
}
Case parse(const char *id, std::string_view text) { return parse_case(*layer(id).contract, text); }
abi::CallTypes types(const char *id, std::string_view text) { return types_of(*layer(id).contract, parse(id, text)); }
std::string refusal(const char *id, std::string_view text) {
    return message_of([&] { (void)parse(id, text); });
}
// The ports that a case may leave out, including those that another port then replaces.
std::set<std::string> optional_ports(const lamina_layer &l) {
    std::set<std::string> names;
    for (const std::span ports : {std::span(l.inputs, l.n_inputs), std::span(l.weights, l.n_weights)})
        for (const lamina_port &port : ports)
            if ((port.flags & LAMINA_OPTIONAL) != 0) names.insert(port.name);
    for (const lamina_port &state : std::span(l.states, l.n_states)) names.insert(state.name);
    return names;
}

} // namespace

TEST_CASE("a case has dims, parameters, optional ports, dtypes, classes of values and a seed") {
    const Case c = parse("layer_norm", "B=2 T=37 C=113 eps=1e-3 +bias weights=f16 x=offset seed=7");
    CHECK(c.dims == std::map<std::string, int64_t, std::less<>>{{"B", 2}, {"T", 37}, {"C", 113}});
    CHECK(std::get<double>(c.params.at("eps")) == 1e-3);
    CHECK(c.given == std::set<std::string, std::less<>>{"bias"});
    CHECK(c.weights == DType::f16);
    CHECK(c.values.at("x") == Values::offset);
    CHECK(c.seed == 7);
    CHECK(std::get<bool>(parse("attention", "causal=1").params.at("causal")));
    CHECK(std::get<std::string>(parse("feed_forward", "activation=silu").params.at("activation")) == "silu");
}

TEST_CASE("a case that is printed and read again is the same case") {
    for (const char *id : {"attention", "feed_forward", "positional_encoding", "layer_norm"}) {
        GeneratorOptions options;
        options.count = 40;
        for (const Case &c : generate_cases(layer(id), options).cases) {
            INFO(id << " \"" << to_string(c) << "\"");
            CHECK(parse(id, to_string(c)) == c);
        }
    }
}

TEST_CASE("a case names axes of any number, and the dtype of a single weight") {
    const Case c = parse("linear", "...=2x3x4 K=5 weights=f16 bias=f32 +bias");
    CHECK(c.axes == Shape{2, 3, 4});
    CHECK(parse("linear", to_string(c)) == c);
    const abi::CallTypes t = types_of(*layer("linear").contract, c);
    CHECK(t.in.at("x").shape == Shape{2, 3, 4, 5});
    CHECK(t.weight.at("weight").dtype == DType::f16);
    CHECK(t.weight.at("bias").dtype == DType::f32);
    CHECK_THAT(refusal("layer_norm", "...=2x"), matchers::contains("...=2x3x4"));
    CHECK_THAT(refusal("layer_norm", "...="), matchers::contains("...=2x3x4"));
    CHECK_THAT(refusal("layer_norm", "eps=nan"), matchers::contains("within 2^53"));
    CHECK_THAT(refusal("layer_norm", "C=5 C=6"), matchers::contains("'C' is given twice"));
    CHECK(parse("linear", "weight=f16 weight=large").values.at("weight") == Values::large); // of each there is one
}

TEST_CASE("a case that is too large is refused before it takes memory") {
    const Case c = parse("softmax", "B=2147483648 C=2147483648");
    CHECK_THAT(message_of([&] { (void)make_case_graph(layer("softmax"), c); }),
               matchers::contains("whose product fits in 64 bits"));
    const Case fits = parse("softmax", "B=65536 C=65536");
    CHECK_THAT(message_of([&] { (void)make_case_graph(layer("softmax"), fits); }), matchers::contains("too large"));
}

TEST_CASE("an unknown word in a case is refused, with the nearest known one") {
    CHECK_THAT(refusal("layer_norm", "B=2 esp=1"), matchers::contains("did you mean 'eps'"));
    CHECK_THAT(refusal("layer_norm", "+bais"), matchers::contains("did you mean 'bias'"));
    CHECK_THAT(refusal("layer_norm", "+x"), matchers::contains("no optional port"));
    CHECK_THAT(refusal("layer_norm", "bias"), matchers::contains("NAME=VALUE or +PORT"));
    CHECK_THAT(refusal("layer_norm", "C=big"), matchers::contains("expected a number, found 'big'"));
    CHECK_THAT(refusal("layer_norm", "C=0"), matchers::contains("a size from 1"));
    CHECK_THAT(refusal("layer_norm", "C=3x"), matchers::contains("expected a number"));
    CHECK_THAT(refusal("layer_norm", "weights=f64"),
               matchers::contains("f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k, q2_k, q3_k, iq4_nl, "
                                  "iq4_xs, i8_k or i4_k"));
    CHECK_THAT(refusal("layer_norm", "x=uniform"), matchers::contains("normal, offset, large"));
    CHECK_THAT(refusal("embedding", "ids=offset"), matchers::contains("zeros, uniform, one, max"));
    CHECK_THAT(refusal("attention", "causal=yes"), matchers::contains("expected 0 or 1"));
}

TEST_CASE("... stands for the axes B and T, as far as a case names them") {
    CHECK(types("layer_norm", "B=2 T=3 C=4").in.at("x").shape == Shape{2, 3, 4});
    CHECK(types("layer_norm", "T=3 C=4").in.at("x").shape == Shape{3, 4});
    CHECK(types("layer_norm", "C=4").in.at("x").shape == Shape{4});
}

TEST_CASE("types follow from a case: optional ports, dtypes, layout") {
    const abi::CallTypes t = types("feed_forward", "B=2 T=5 C=32 H=24 +residual +up_bias weights=bf16");
    CHECK(t.in.at("x") == TensorType{DType::f32, {2, 5, 32}});
    CHECK(t.in.at("residual") == TensorType{DType::f32, {2, 5, 32}});
    CHECK(t.weight.at("up_weight") == TensorType{DType::bf16, {24, 32}});
    CHECK(t.weight.at("up_bias") == TensorType{DType::bf16, {24}});
    CHECK_FALSE(t.weight.contains("down_bias"));
    const char *text = "B=2 Tq=5 Tk=7 D=8 heads=4 kv_heads=2 +v +keep_mask batch_first=0";
    CHECK(types("attention", text).in.at("q").shape == Shape{5, 2, 32});
    CHECK(types("attention", text).in.at("v").shape == Shape{7, 2, 16});
    CHECK(types("attention", text).in.at("keep_mask") == TensorType{DType::i32, {2, 5, 7}});
}

TEST_CASE("a port that stands in for another determines its sizes") {
    const char *text = "B=2 Tq=5 Tk=7 D=8 heads=4";
    CHECK_FALSE(types("attention", text).in.contains("v"));
    CHECK(call_of(layer("attention"), parse("attention", text)).types(abi::PortList::in)[2].shape == Shape{2, 7, 32});
}

TEST_CASE("generated cases are determined by the seed") {
    GeneratorOptions options;
    const std::vector<Case> first = generate_cases(layer("linear"), options).cases;
    CHECK(first == generate_cases(layer("linear"), options).cases);
    options.seed = 2;
    CHECK_FALSE(first == generate_cases(layer("linear"), options).cases);
}

TEST_CASE("in generated cases every activation meets every width of weights, and weights in blocks") {
    std::set<std::pair<std::string, size_t>> pairs;
    for (const Case &c : generate_cases(layer("feed_forward"), {}).cases)
        pairs.emplace(std::get<std::string>(c.params.at("activation")),
                      std::min(static_cast<size_t>(c.weights), static_cast<size_t>(LAMINA_Q8_0)));
    std::set<std::string> activations;
    std::set<size_t> kinds;
    for (const auto &[activation, kind] : pairs) activations.insert(activation), kinds.insert(kind);
    CHECK(kinds.size() == 4); // f32, f16, bf16, blocks
    CHECK(pairs.size() == activations.size() * kinds.size());
}

TEST_CASE("in generated cases, values of all magnitudes go into states of halves") {
    std::set<std::string> spread;
    for (const Case &c : generate_cases(layer("attention"), {}).cases)
        for (const auto &[port, values] : c.values)
            if (values == Values::spread && c.dtypes.contains("key_cache") && c.dtypes.contains("value_cache"))
                spread.insert(port);
    CHECK(spread.contains("k"));
    CHECK(spread.contains("v"));
}

TEST_CASE("generated cases cover sizes next to tile sizes, every port, every dtype and both layouts") {
    GeneratorOptions options;
    options.count = 200;
    const abi::Layer &attention = layer("attention");
    std::set<std::string> alone, given;
    std::set<int64_t> lengths, head_dims;
    std::set<bool> layouts;
    bool none = false;
    for (const Case &c : generate_cases(attention, options).cases) {
        (void)call_of(attention, c); // throws if the layer refuses it
        none |= c.given.empty();
        if (c.given.size() == 1) alone.insert(*c.given.begin());
        given.insert(c.given.begin(), c.given.end());
        lengths.insert(c.dims.at("Tq"));
        head_dims.insert(c.dims.at("D"));
        const auto layout = c.params.find("batch_first");
        layouts.insert(layout == c.params.end() || std::get<bool>(layout->second));
    }
    CHECK(none);
    std::set<std::string> optional = optional_ports(*attention.contract);
    CHECK(given == optional);
    CHECK(optional.erase("value_cache") == 1); // it belongs to a key_cache
    CHECK(alone == optional);
    CHECK(layouts.size() == 2);
    CHECK(lengths.size() >= 12);
    CHECK(*head_dims.rbegin() == 256);
    std::set<DType> dtypes;
    for (const Case &c : generate_cases(layer("linear"), options).cases) dtypes.insert(c.weights);
    CHECK(dtypes.size() == static_cast<size_t>(std::popcount(plugin::weight_dtypes)));
}
