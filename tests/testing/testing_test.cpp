// The matchers of lamina/testing.hpp: what they accept and reject, and their messages.
#include <lamina/testing.hpp>

#include "catch.hpp"
#include "places.hpp"

#include <array>
#include <limits>

namespace {

using namespace lamina;
namespace testing = lamina::testing;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

Tensor row(float a, float b) { return Tensor::of({1, 2}, std::array{a, b}); }

template <class Matcher, class Value> std::string complaint(const Matcher &matcher, const Value &value) {
    return matcher.match(value) ? std::string() : matcher.describe();
}

} // namespace

TEST_CASE("close_to: an error is measured against the largest value of its own row") {
    const Tensor expected = Tensor::of({2, 2}, std::array{100.0f, 1.0f, 1.0f, 1.0f});
    CHECK_THAT(Tensor::of({2, 2}, std::array{100.0f, 1.5f, 1.0f, 1.0f}), testing::close_to(expected, 0.01));
    CHECK_THAT(complaint(testing::close_to(expected, 0.01), Tensor::of({2, 2}, std::array{100.0f, 1.0f, 1.0f, 1.5f})),
               matchers::contains("[1, 1]: expected 1, found 1.5"));
    CHECK_THAT(row(1, 0.5f), testing::close_to(row(1, 0), 0, 0.5));
    CHECK_FALSE(testing::close_to(row(1, 0), 0, 0.25).match(row(1, 0.5f)));
}

TEST_CASE("close_to: NaN agrees only with NaN, and different shapes or dtypes never agree") {
    CHECK_THAT(row(1, not_a_number), testing::close_to(row(1, not_a_number), 0));
    CHECK_FALSE(testing::close_to(row(1, 2), 1).match(row(1, not_a_number)));
    CHECK_FALSE(testing::close_to(row(1, not_a_number), 1).match(row(1, 2)));
    CHECK_THAT(complaint(testing::close_to(row(1, 2), 1), Tensor::of({2, 1}, std::array{1.0f, 2.0f})),
               matchers::contains("different type or shape"));
    CHECK_FALSE(testing::close_to(row(0, 0), 1).match(Tensor({DType::i32, {1, 2}})));
    CHECK_FALSE(testing::close_to(Tensor({DType::f32, {0, 2}}), 1).match(Tensor({DType::f32, {0, 2}})));
}

TEST_CASE("close_to: the tensors are printed") {
    CHECK(Catch::StringMaker<Tensor>::convert(Tensor::of({1, 2}, std::array{3, 4})) == "i32 (1, 2): 3 4");
    CHECK_THAT(complaint(testing::close_to(row(1, 2), 0), row(1, 3)), matchers::contains("f32 (1, 2)"));
}

TEST_CASE("output_of: one layer, its parameters, inputs and weights by name") {
    const Tensor weight = Tensor::of({1, 2}, std::array{10.0f, 1.0f}), bias = Tensor::of({1}, std::array{0.5f});
    const TensorMap weights{{"weight", weight}, {"bias", bias}};
    for (const char *device : {"reference", "cpu"})
        CHECK_THAT(testing::output_of("linear", "{}", {{"x", row(1, 2)}}, weights, device),
                   testing::close_to(Tensor::of({1, 1}, std::array{12.5f}), 1e-6));
    CHECK_THAT(message_of([] {
                   (void)testing::output_of("layer_norm", R"({"epsilon": 1})", {{"x", row(1, 2)}});
               }),
               matchers::contains("eps"));
}

TEST_CASE("agrees_on: a layer passes if its kernels ran and agreed") {
    CHECK_THAT("linear", testing::agrees_on("cpu"));
    CHECK_THAT("linear", testing::agrees_on_every_device());
}

TEST_CASE("agrees_on: it fails if no kernel ran") {
    CHECK_THAT(complaint(testing::agrees_on("cpu"), std::string("pooling")),
               matchers::contains("no kernel ran, so nothing is proved"));
}

TEST_CASE("agrees_on: a layer or a device that does not exist is an error") {
    CHECK_THAT(message_of([] { (void)testing::agrees_on("cpu").match("layer_nrom"); }),
               matchers::contains("did you mean 'layer_norm'"));
    CHECK_THAT(message_of([] { (void)testing::agrees_on("vulkan:99").match("linear"); }),
               matchers::contains("no device 'vulkan:99'"));
}

TEST_CASE("same_as_cpu: a model layer by layer, on texts or on the inputs of a graph") {
    const Model words = testing::runtime().load(LAMINA_SOURCE_DIR "/models/g2p");
    CHECK_THAT(words, testing::same_as_cpu("cpu"));
    CHECK(Catch::StringMaker<Model>::convert(words) == "model " + words.name());

    const Model norm =
        testing::runtime().load(ModelDescription{"norm",
                                                 R"({"format": "lamina/1", "name": "norm", "graphs": {"main": {
            "inputs": {"x": {"dtype": "f32", "dims": "B C"}},
            "layers": [{"name": "norm", "type": "layer_norm", "inputs": {"x": "x"}}],
            "outputs": {"y": "norm"}}}})",
                                                 {},
                                                 {}});
    CHECK_THAT(norm, testing::same_as_cpu("cpu", {{"x", row(1, 2)}}));
    CHECK_THAT(message_of([&] { (void)testing::same_as_cpu("cpu").match(norm); }),
               matchers::contains("does not generate text"));
}
