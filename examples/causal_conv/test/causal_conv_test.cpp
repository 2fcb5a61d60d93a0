// Compares the reference of causal_conv with known numbers, and every device with the reference.
#include <lamina/testing.hpp>

#include <array>

using lamina::Tensor;

TEST_CASE("causal_conv: each row is a sum over itself and the rows before it, with zeros before the first") {
    const Tensor x = Tensor::of({1, 4, 2}, std::array{1.0f, 10.0f, 2.0f, 20.0f, 3.0f, 30.0f, 4.0f, 40.0f});
    const Tensor weight = Tensor::of({2, 3}, std::array{100.0f, 10.0f, 1.0f, 0.0f, 0.5f, 0.0f});
    const Tensor y = Tensor::of({1, 4, 2}, std::array{1.0f, 0.0f, 12.0f, 5.0f, 123.0f, 10.0f, 234.0f, 15.0f});
    CHECK_THAT(lamina::testing::output_of("causal_conv", "{}", {{"x", x}}, {{"weight", weight}}),
               lamina::testing::close_to(y, 1e-6));
}

TEST_CASE("causal_conv agrees with its reference on every device") {
    CHECK_THAT("causal_conv", lamina::testing::agrees_on_every_device());
}
