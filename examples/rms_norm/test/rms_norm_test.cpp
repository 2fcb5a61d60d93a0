// rms_norm, held to its maths and on every device to its reference.
#include <lamina/testing.hpp>

#include <array>

using lamina::Tensor;

TEST_CASE("rms_norm: a row of 3 and 4 has the root mean square 5 / sqrt 2") {
    const Tensor x = Tensor::of({2, 2}, std::array{3.0f, 4.0f, -300.0f, -400.0f});
    const Tensor weight = Tensor::of({2}, std::array{0.70710678f, 7.0710678f});
    const Tensor y = Tensor::of({2, 2}, std::array{0.6f, 8.0f, -0.6f, -8.0f});
    CHECK_THAT(lamina::testing::output_of("rms_norm", R"({"eps": 0})", {{"x", x}}, {{"weight", weight}}),
               lamina::testing::close_to(y, 1e-6));
}

TEST_CASE("rms_norm: eps keeps a row of zeros zero") {
    const Tensor zeros = Tensor::of({1, 3}, std::array{0.0f, 0.0f, 0.0f});
    CHECK_THAT(lamina::testing::output_of("rms_norm", "{}", {{"x", zeros}}), lamina::testing::close_to(zeros, 0));
}

TEST_CASE("rms_norm computes on every device what its reference does") {
    CHECK_THAT("rms_norm", lamina::testing::agrees_on_every_device());
}
