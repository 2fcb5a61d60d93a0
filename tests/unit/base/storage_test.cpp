#include "base/storage.hpp"

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace lamina;
using namespace lamina::plugin;

TEST_CASE("every F16 and every BF16 survives being widened and narrowed") {
    size_t wrong = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        const float f16 = widen_f16(half), bf16 = widen_bf16(half);
        wrong += std::isnan(f16) ? !std::isnan(widen_f16(narrow_f16(f16))) : narrow_f16(f16) != half;
        wrong += !std::isnan(bf16) && narrow_bf16(bf16) != half;
    }
    CHECK(wrong == 0);
}

TEST_CASE("narrowing rounds to the nearest, ties to even, and beyond the largest to infinity") {
    CHECK(narrow_f16(1.0F + 0x1p-11F) == 0x3c00);            // half a step above 1: rounds to even
    CHECK(narrow_f16(1.0F + 0x1p-10F + 0x1p-11F) == 0x3c02); // half a step above an odd one
    CHECK(narrow_f16(1.0F + 0x1p-11F + 0x1p-20F) == 0x3c01);
    CHECK(narrow_f16(65504.0F) == 0x7bff);
    CHECK(narrow_f16(65519.0F) == 0x7bff);
    CHECK(narrow_f16(65520.0F) == 0x7c00);
    CHECK(narrow_f16(-std::numeric_limits<float>::infinity()) == 0xfc00);
    CHECK(narrow_f16(0x1p-24F) == 0x0001); // the smallest subnormal
    CHECK(narrow_f16(0x1p-25F) == 0x0000); // a tie: to even
    CHECK(narrow_f16(-0.0F) == 0x8000);
    CHECK(narrow_bf16(1.0F + 0x1p-8F) == 0x3f80);
    CHECK(narrow_bf16(1.0F + 0x1p-7F + 0x1p-8F) == 0x3f82);
}

TEST_CASE("a tensor must have rows of whole blocks") {
    CHECK(Tensor({DType::q8_0, {3, 64}}).bytes().size() == 3 * 2 * 34);
    CHECK_THAT(
        message_of([] {
            (void)narrowed(Tensor({DType::f32, {3, 40}}), DType::q8_0);
        }),
        matchers::contains("a tensor of shape (3, 40) cannot be q8_0: expected rows of a multiple of 32 values"));
}

TEST_CASE("Q8_0: the error is at most half of 1/127 of the block's largest value, plus f16 rounding") {
    Tensor wide({DType::f32, {1, 32}});
    for (size_t i = 0; i < 32; ++i) wide.f32()[i] = std::sin(static_cast<float>(i * i)) * 5;
    Tensor back({DType::f32, {1, 32}});
    widen(DType::q8_0, narrowed(wide, DType::q8_0).bytes(), back.f32());
    for (size_t i = 0; i < 32; ++i) CHECK(std::abs(back.f32()[i] - wide.f32()[i]) <= 5.0F / 127 / 2 + 5.0F * 0x1p-11F);
}
