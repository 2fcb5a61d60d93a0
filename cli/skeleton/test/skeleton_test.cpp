// Compares the reference of the layer skeleton with known numbers, and every device and the interpreter of kernels with
// the reference.
#include <lamina/testing.hpp>

#include <array>

using lamina::Tensor;

TEST_CASE("skeleton: the reference gives numbers that were worked out by hand") {
    const Tensor x = Tensor::of({2, 3}, std::array{1.0f, 2.0f, 3.0f, -1.0f, 0.5f, 0.0f});
    const Tensor weight = Tensor::of({3}, std::array{1.0f, -1.0f, 10.0f});
    const Tensor y = Tensor::of({2, 3}, std::array{2.0f, -4.0f, 60.0f, -2.0f, -1.0f, 0.0f});
    CHECK_THAT(lamina::testing::output_of("skeleton", R"({"factor": 2})", {{"x", x}}, {{"weight", weight}}),
               lamina::testing::close_to(y, 1e-6));
}

TEST_CASE("skeleton agrees with its reference on every device") {
    CHECK_THAT("skeleton", lamina::testing::agrees_on_every_device());
}

TEST_CASE("skeleton has no race, leaves no array, and reads nothing that was not written") { // needs no GPU
    CHECK_THAT("skeleton", lamina::testing::agrees_on("interpreter"));
}
