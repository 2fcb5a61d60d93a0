// rotary_embedding, held to its maths and on every device to its reference.
#include <lamina/testing.hpp>

#include <array>
#include <cmath>

using lamina::Tensor;

namespace {

// The product of a query at one position with a key at another, both turned: what attention scores are.
double score(int32_t query_position, int32_t key_position) {
    const Tensor rows = Tensor::of({1, 2, 4}, std::array{1.0f, 2.0f, -0.5f, 0.25f, 0.5f, -1.0f, 3.0f, 1.5f});
    const Tensor position = Tensor::of({1, 2}, std::array{query_position, key_position});
    const Tensor turned =
        lamina::testing::output_of("rotary_embedding", R"({"heads": 1})", {{"x", rows}, {"position", position}});
    double sum = 0;
    for (size_t c = 0; c < 4; ++c) sum += static_cast<double>(turned.f32()[c]) * turned.f32()[4 + c];
    return sum;
}

} // namespace

TEST_CASE("rotary_embedding: at position 1 the first pair of each head turns by one radian, at 0 nothing turns") {
    const Tensor x = Tensor::of({1, 2, 4}, std::array{1.0f, 0.0f, 0.0f, 2.0f, 1.0f, 0.0f, 0.0f, 2.0f});
    const auto cosine = static_cast<float>(std::cos(1.0)), sine = static_cast<float>(std::sin(1.0));
    const Tensor y = Tensor::of({1, 2, 4}, std::array{1.0f, 0.0f, 0.0f, 2.0f, cosine, sine, -2 * sine, 2 * cosine});
    CHECK_THAT(lamina::testing::output_of("rotary_embedding", R"({"heads": 2})", {{"x", x}}),
               lamina::testing::close_to(y, 1e-6));
}

TEST_CASE("rotary_embedding: a score depends on the distance of query and key alone, even at position 10^9") {
    const double near = score(7, 3);
    CHECK(std::abs(near - score(3, 7)) > 0.1); // it does depend on the distance
    CHECK(std::abs(near - score(1007, 1003)) < 1e-5);
    CHECK(std::abs(near - score(1000000007, 1000000003)) < 1e-5);
}

TEST_CASE("rotary_embedding computes on every device what its reference does") {
    CHECK_THAT("rotary_embedding", lamina::testing::agrees_on_every_device());
}
