// What fusions replace: reading it, checking it, and running it as their reference.
#include "abi/pattern.hpp"

#include "catch.hpp"
#include "test_layer.hpp"

#include <algorithm>
#include <array>
#include <functional>

using namespace lamina;
using namespace lamina::abi;

namespace {

using namespace lamina::plugin;
using lamina::plugin::Tensor;

constexpr std::array no_kernels{lamina_kernel{"kernel", test::spirv_header, 5}};

// y = factor * x, up to rows of four values.
struct Times {
    static constexpr auto id = "times", summary = "", source = "";
    static constexpr std::array params{required(real("factor", "", 1, -100, 100)), choice("sign", "", "keep|flip"),
                                       follows(real("again", "", 1, -100, 100), "factor")};
    static constexpr std::array inputs{input("x", "... C", ""), optional(input("more", "... C", ""))};
    static constexpr std::array weights{optional(weight("weight", "C", ""))};
    static constexpr std::array outputs{by_rows(output("y", "... C", ""))};
    static constexpr std::array variants{baseline("")};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1 factor=2"};
    static constexpr auto &kernels = no_kernels;
    static void check(const Call &call) {
        if (call.in("x").cols() > 4) throw Invalid("rows of more than four values");
    }
    static void reference(const Call &call) {
        const Tensor x = call.in("x"), more = call.in("more"), weight = call.weight("weight"), y = call.out("y");
        const double factor = call.real("factor") * (call.flag("sign") ? -1 : 1);
        for (const int64_t r : call.wanted(y))
            for (size_t c = 0; c < y.row(r).size(); ++c)
                y.row(r)[c] = static_cast<float>(factor * (weight ? weight.f32()[c] : 1) * x.row(r)[c] +
                                                 (more ? more.row(r)[c] : 0));
    }
    static void plan(const Call &, Plan &) {}
};

// The sums of all values up to a row, which needs all rows before it; and how many there are.
struct Sums {
    static constexpr auto id = "sums", summary = "", source = "";
    static constexpr std::array inputs{input("x", "N C", "")};
    static constexpr std::array outputs{output("y", "N C", ""), output("count", "C", "")};
    static constexpr std::array variants{baseline("")};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"N=1 C=1"};
    static constexpr auto &kernels = no_kernels;
    static void reference(const Call &call) {
        const Tensor x = call.in("x"), y = call.out("y");
        for (int64_t r = 0; r < x.rows(); ++r)
            for (size_t c = 0; c < x.row(r).size(); ++c) y.row(r)[c] = x.row(r)[c] + (r > 0 ? y.row(r - 1)[c] : 0);
        std::ranges::fill(call.out("count").f32(), static_cast<float>(x.rows()));
    }
    static void plan(const Call &, Plan &) {}
};

// sums(scale * x), times a weight and 3, plus `more`.
struct Both {
    static constexpr auto id = "both", summary = "", source = "";
    static constexpr auto fuses = R"({
        "layers": [
            {"name": "scaled", "type": "times", "inputs": {"x": "x"}, "params": {"factor": "scale", "sign": "sign"}},
            {"name": "summed", "type": "sums", "inputs": {"x": "scaled"}},
            {"name": "last", "type": "times", "inputs": {"x": "summed.y", "more": "more"}, "params": {"factor": 3},
             "weights": {"weight": "factors"}}
        ],
        "outputs": {"y": "last"}
    })";
    static constexpr std::array params{real("scale", "", 2, -1000, 1000), choice("sign", "", "keep|flip")};
    static constexpr std::array inputs{input("x", "N C", ""), optional(input("more", "N C", ""))};
    static constexpr std::array weights{optional(weight("factors", "C", ""))};
    static constexpr std::array outputs{by_rows(output("y", "N C", ""))};
    static constexpr std::array variants{baseline("")};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"N=1 C=1"};
    static constexpr auto &kernels = no_kernels;
    static void plan(const Call &, Plan &) {}
};

struct Layers {
    std::map<std::string, Layer, std::less<>> layers;
    lamina_layer both = lamina::plugin::detail::describe<Both>();
    lamina_layer sums = lamina::plugin::detail::describe<Sums>();
    std::string text = Both::fuses;
    Layer fusion;

    Layers() {
        layers["times"].contract = &lamina::plugin::detail::descriptor<Times>();
        layers["sums"].contract = &sums;
    }
    // After a change of the pattern.
    Layers &replace(const std::string &from, const std::string &to) {
        const size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        text.replace(at, from.size(), to);
        return *this;
    }
    const Layer &read() {
        both.fuses = text.c_str();
        fusion.contract = &both;
        fusion.pattern = read_pattern(both, layers);
        return fusion;
    }
    std::string refusal() {
        return message_of([&] { (void)read(); });
    }
    // The results of 3 rows of 2 values: y, from x, `more` and `factors`, as the layers that are given.
    std::vector<float> run(const Params &params, bool more, bool factors, const std::vector<int64_t> &rows = {}) {
        const TensorType type{DType::f32, {3, 2}};
        CallTypes types;
        types.in["x"] = type;
        if (more) types.in["more"] = type;
        if (factors) types.weight["factors"] = {DType::f16, {2}};
        const LayerCall call(read(), params, types, "here");
        std::vector<float> x{1, 2, 3, 4, 5, 6}, added{10, 20, 30, 40, 50, 60}, scale{1, -1}, y(6, -1);
        const LayerCall::Data data{
            {x.data(), more ? added.data() : nullptr}, {factors ? scale.data() : nullptr}, {y.data()}, {}};
        call.reference(data, rows);
        return y;
    }
};

} // namespace

TEST_CASE("a fusion's reference is that of its layers, one after the other") {
    CHECK(Layers().run({}, false, false) == std::vector<float>{6, 12, 24, 36, 54, 72});
    CHECK(Layers().run({{"scale", 1.0}, {"sign", std::string("flip")}}, true, true) ==
          std::vector<float>{7, 26, 18, 58, 23, 96});
    CHECK(types_of_members(*Layers().read().pattern) == std::vector<std::string>{"times", "sums", "times"});
}

TEST_CASE("a fusion computes some rows, with all rows of what they depend on") {
    CHECK(Layers().run({}, false, false, {2}) == std::vector<float>{-1, -1, -1, -1, 54, 72});
    CHECK(Layers().run({}, false, false, {0, 1}) == std::vector<float>{6, 12, 24, 36, -1, -1});
}

TEST_CASE("the layers of a fusion check their calls") {
    Layers layers;
    CallTypes types;
    types.in["x"] = {DType::f32, {3, 5}};
    CHECK_THAT(message_of([&] { (void)LayerCall(layers.read(), {}, types, "here"); }),
               matchers::contains("here: 'scaled': rows of more than four values"));
    types.in["x"] = {DType::f32, {3, 4}};
    CHECK_THAT(message_of([&] {
                   (void)LayerCall(layers.read(), {{"scale", 500.0}}, types, "here");
               }),
               matchers::contains("parameter 'factor': expected a number from -100 to 100"));
    constexpr std::array columns{output("y", "N N", "")};
    layers.both.outputs = columns.data();
    CHECK_THAT(message_of([&] { (void)LayerCall(layers.read(), {}, types, "here"); }),
               matchers::contains("declares output 'y' as (3, 3)") && matchers::contains("compute (3, 4)"));
}

TEST_CASE("a pattern that does not fit its layers is refused with its place") {
    const struct {
        const char *from, *to;
        std::vector<const char *> message;
    } changes[] = {
        {"\"type\": \"sums\"", "\"type\": \"sum\"", {"/layers/1/type", "there is no layer 'sum'"}},
        {"\"type\": \"sums\"", "\"type\": \"both\"", {"'both' is itself a fusion"}},
        {"\"x\": \"scaled\"", "\"x\": \"scale\"", {"/layers/1/inputs/x", "no tensor 'scale'", "scaled"}},
        {"\"x\": \"scaled\"", "", {"input 'x' of sums is required"}},
        {"\"x\": \"scaled\"", "\"y\": \"scaled\"", {"sums has no input 'y'"}},
        {"\"summed.y\"", "\"summed\"", {"no tensor 'summed'"}},
        {"\"factor\": \"scale\", ", "", {"parameter 'factor' of times is required"}},
        {"\"factor\": 3", "\"factor\": 300", {"'factor': expected a number from -100 to 100"}},
        {"\"factor\": 3", "\"factor\": \"sign\"", {"parameter 'sign' of the fusion is of another kind"}},
        {"\"factor\": 3", "\"factors\": 3", {"times has no parameter 'factors'"}},
        {"\"weight\": \"factors\"", "\"weight\": \"factor\"", {"the fusion has no weight 'factor'"}},
        {"\"weight\": \"factors\"", "", {"no layer takes the fusion's weight 'factors'"}},
        {", \"more\": \"more\"", "", {"no layer takes the fusion's input 'more'"}},
        {"\"y\": \"last\"", "\"z\": \"last\"", {"the fusion has no output 'z'"}},
        {"\"y\": \"last\"", "", {"expected a layer that computes 'y'"}},
        {"\"y\": \"last\"", "\"y\": \"x\"", {"expected a layer that computes 'y'"}},
        {"\"y\": \"last\"", "\"y\": \"summed.y\"", {"the fusion computes 'y' by rows; 'summed' does not"}},
        {"\"x\": \"summed.y\"", "\"x\": \"x\"", {"nothing takes what 'summed' computes"}},
        {"\"name\": \"last\"", "\"name\": \"scaled\"", {"a second tensor 'scaled'"}},
        {"\"outputs\"", "\"output\"", {"output"}},
    };
    for (const auto &[from, to, message] : changes) {
        INFO(from << " -> " << to);
        Layers layers;
        layers.layers["both"].contract = &layers.both;
        layers.both.fuses = "";
        const std::string refusal = layers.replace(from, to).refusal();
        for (const char *part : message) CHECK_THAT(refusal, matchers::contains(part));
    }
    Layers single;
    single.text = R"({"layers": [{"name": "a", "type": "sums", "inputs": {"x": "x"}}], "outputs": {"y": "a.y"}})";
    CHECK_THAT(single.refusal(), matchers::contains("expected at least two layers"));
    single.text = "{";
    CHECK_THAT(single.refusal(), matchers::contains("fuses"));
}

TEST_CASE("a parameter that a pattern leaves open has its default, also one that follows another") {
    Layers layers;
    const Pattern &pattern = *layers.read().pattern;
    const std::vector<Pattern::Param> &first = pattern.members[0].params, &last = pattern.members[2].params;
    CHECK(first[0].of == 0);
    CHECK(first[1].of == 1);
    CHECK(first[2].of == 0); // again = factor
    CHECK_FALSE(last[2].of.has_value());
    CHECK(last[2].value == 3);
    CHECK(last[1].value == 0); // keep
}
