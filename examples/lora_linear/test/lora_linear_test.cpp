// Compares the reference of lora_linear with known numbers, and every device with the reference.
#include <lamina/testing.hpp>

#include <array>

using lamina::Tensor;

TEST_CASE("lora_linear: the adapter adds scale * B A to the weight") {
    const Tensor x = Tensor::of({1, 2}, std::array{3.0f, 4.0f});
    const Tensor weight = Tensor::of({2, 2}, std::array{1.0f, 0.0f, 0.0f, 1.0f});
    const Tensor down = Tensor::of({1, 2}, std::array{1.0f, 2.0f}), up = Tensor::of({2, 1}, std::array{10.0f, -1.0f});
    const Tensor y = Tensor::of({1, 2}, std::array{3.0f + 0.5f * 110.0f, 4.0f - 0.5f * 11.0f});
    CHECK_THAT(lamina::testing::output_of("lora_linear", R"({"scale": 0.5})", {{"x", x}},
                                          {{"weight", weight}, {"down", down}, {"up", up}}),
               lamina::testing::close_to(y, 1e-6));
}

TEST_CASE("lora_linear agrees with its reference on every device") {
    CHECK_THAT("lora_linear", lamina::testing::agrees_on_every_device());
}
