// Whether a result is close enough to the reference.
#include "conformance/verdict.hpp"

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace lamina;
using namespace lamina::conformance;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

Tensor tensor(Shape shape, std::vector<float> values) {
    return Tensor::of(std::move(shape), std::span<const float>(values));
}
Verdict compare_rows(std::vector<float> got, std::vector<float> expected, double rtol, double atol = 0) {
    const auto columns = static_cast<int64_t>(expected.size()) / 2;
    return compare(tensor({2, columns}, std::move(got)), tensor({2, columns}, std::move(expected)),
                   {rtol, atol, LAMINA_F32, 0}, "y");
}

} // namespace

TEST_CASE("equal results pass with an error of 0") {
    const Verdict v = compare_rows({1, 2, 3, 4}, {1, 2, 3, 4}, 0);
    CHECK(v.passed);
    CHECK(v.ratio == 0);
    CHECK(v.compared == 4);
}

TEST_CASE("an error is relative to the largest value of its own row") {
    CHECK(compare_rows({1000.5F, 1, 1, 1}, {1000, 1, 1, 1}, 1e-3).passed);
    CHECK_FALSE(compare_rows({1000, 1, 1, 1.5F}, {1000, 1, 1, 1}, 1e-3).passed);
    CHECK(compare_rows({1000, 1.5F, 1, 1}, {1000, 1, 1, 1}, 1e-3).passed); // the row's own largest is 1000
}

TEST_CASE("the limit is rtol times the row's largest, plus atol") {
    CHECK(compare_rows({1.125F, 0, 0, 0}, {1, 0, 0, 0}, 0.125).passed);
    CHECK_FALSE(compare_rows({1.1251F, 0, 0, 0}, {1, 0, 0, 0}, 0.125).passed);
    CHECK(compare_rows({0.25F, 0, 0, 0}, {0, 0, 0, 0}, 1, 0.25).passed);
    CHECK_FALSE(compare_rows({0x1p-149F, 0, 0, 0}, {0, 0, 0, 0}, 1, 0).passed);
}

TEST_CASE("NaN and infinities pass only where they are expected") {
    CHECK(compare_rows({not_a_number, infinity, -infinity, 1}, {not_a_number, infinity, -infinity, 1}, 0).passed);
    CHECK_FALSE(compare_rows({not_a_number, 1, 1, 1}, {1, 1, 1, 1}, 1).passed);
    CHECK_FALSE(compare_rows({1, 1, 1, 1}, {not_a_number, 1, 1, 1}, 1).passed);
    CHECK_FALSE(compare_rows({infinity, 1, 1, 1}, {-infinity, 1, 1, 1}, 1).passed);
    CHECK_FALSE(compare_rows({infinity, 1, 1, 1}, {3e38F, 1, 1, 1}, 1).passed);
    CHECK_FALSE(compare_rows({not_a_number, 1, 1, 1}, {infinity, 1, 1, 1}, 1).passed);
    // Finite values next to an infinity are still compared relative to the row's largest finite value.
    CHECK_FALSE(compare_rows({infinity, 1.5F, 1, 1}, {infinity, 1, 1, 1}, 1e-3).passed);
}

TEST_CASE("errors after a NaN are found, and one NaN outweighs them") {
    const Verdict v = compare_rows({not_a_number, 2, 1, not_a_number}, {not_a_number, 1, 1, 1}, 1e-3);
    CHECK_FALSE(v.passed);
    CHECK(v.index == Shape{1, 1});
    CHECK(std::isinf(v.ratio));
}

TEST_CASE("a comparison of nothing, or of other shapes, does not pass") {
    CHECK_FALSE(compare(tensor({0, 3}, {}), tensor({0, 3}, {}), {1, 1, LAMINA_F32, 0}, "y").passed);
    CHECK_FALSE(compare(tensor({3}, {1, 2, 3}), tensor({1, 3}, {1, 2, 3}), {1, 1, LAMINA_F32, 0}, "y").passed);
}

TEST_CASE("the worst element is named with its index, values, ULP and the limit") {
    const Tensor expected = tensor({2, 2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    Tensor got = expected;
    got.f32()[4] = 1.25F, got.f32()[11] = 1.5F;
    const Verdict v = compare(got, expected, {1e-2, 0, LAMINA_F32, 0}, "y");
    CHECK(v.index == Shape{1, 1, 2});
    CHECK(v.got == 1.5);
    CHECK(v.expected == 1);
    CHECK(v.ulps == 1u << 22u);
    CHECK_THAT(v.ratio, matchers::within_abs(50, 1e-9));
    CHECK(v.text() ==
          "y[1, 1, 2]: expected 1, found 1.5: off by 0.5 (4194304 ULP), 50 times the 0.01 allowed in its row");
}

TEST_CASE("ULP are counted across zero, and both zeros are equal") {
    CHECK(compare_rows({-0x1p-149F, 0, 0, 0}, {0x1p-149F, 0, 0, 0}, 0).ulps == 2);
    CHECK(compare_rows({-0.0F, 0, 0, 0}, {0.0F, 0, 0, 0}, 0).passed);
}

TEST_CASE("integers are equal or wrong") {
    const std::vector<int32_t> a{1, 2, 3}, b{1, 2, 4};
    const Tensor expected = Tensor::of({3}, std::span<const int32_t>(a));
    CHECK(compare(expected, expected, {0, 0, LAMINA_F32, 0}, "ids").passed);
    const Verdict v = compare(Tensor::of({3}, std::span<const int32_t>(b)), expected, {1, 1, LAMINA_F32, 0}, "ids");
    CHECK_FALSE(v.passed);
    CHECK(v.index == Shape{2});
}

TEST_CASE("the sum of two verdicts reports the worse one, and both must pass") {
    const Verdict good = compare_rows({1, 1, 1, 1}, {1, 1, 1, 1}, 1e-3);
    const Verdict close = compare_rows({1.0005F, 1, 1, 1}, {1, 1, 1, 1}, 1e-3);
    const Verdict wrong = compare_rows({2, 1, 1, 1}, {1, 1, 1, 1}, 1e-3);
    const auto joined = [](const Verdict &first, const Verdict &second) {
        Verdict all;
        CHECK(add(all, first)); // the worst so far, whatever it is
        CHECK(add(all, second) == (second.ratio > first.ratio || second.compared == 0));
        return all;
    };
    CHECK(joined(good, close).passed);
    CHECK(joined(good, close).ratio == close.ratio);
    CHECK_FALSE(joined(good, wrong).passed);
    CHECK(joined(wrong, good).ratio == wrong.ratio);
    CHECK_FALSE(joined(good, Verdict{}).passed);
    CHECK(joined(good, close).compared == 8);
}

TEST_CASE("rows are in doubt if they differ by more than half of what is allowed, the worst first") {
    Tensor a(TensorType{DType::f32, {2, 2, 2}});
    std::ranges::fill(a.f32(), 1.0F);
    Tensor b = a;
    b.f32()[1] += 0.004F, b.f32()[2] += 0.006F, b.f32()[5] += 0.1F, b.f32()[7] = NAN;
    const lamina_tolerance tolerance{0.01, 0, LAMINA_F32, 0};
    CHECK(doubtful_rows(b, a, tolerance, 9) == std::vector<int64_t>{1, 2, 3});
    CHECK(doubtful_rows(b, a, tolerance, 2) == std::vector<int64_t>{2, 3});
    CHECK(doubtful_rows(a, a, tolerance, 9).empty());
    Tensor i(TensorType{DType::i32, {3, 1}}), j = i;
    j.i32()[2] = 1;
    CHECK(doubtful_rows(j, i, tolerance, 9) == std::vector<int64_t>{2});
}
