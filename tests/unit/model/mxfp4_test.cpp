// MXFP4 as q5_0: every code and every scale, exactly.
#include "catch.hpp"

#include "model/mxfp4.hpp"

#include <lamina/plugin/dtype.hpp>

#include <array>
#include <cmath>
#include <vector>

using namespace lamina;
using matchers::contains;

namespace {

constexpr std::array<float, 16> e2m1{0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

std::array<uint8_t, model::mxfp4_values> codes_from(size_t first) {
    std::array<uint8_t, model::mxfp4_values> out{};
    for (size_t i = 0; i < out.size(); ++i) out.at(i) = static_cast<uint8_t>((first + i * 5) % 16);
    return out;
}

std::vector<float> widened(const model::Weight &weight) {
    std::vector<float> out(static_cast<size_t>(element_count(weight.type.shape)));
    plugin::storage_type(LAMINA_Q5_0).widen(weight.bytes().data(), static_cast<int64_t>(out.size() / 32), out.data());
    return out;
}

model::OtherTensor bytes_of(const std::vector<std::byte> &bytes, Shape shape) {
    return {"U8", std::move(shape), bytes, nullptr};
}

} // namespace

TEST_CASE("mxfp4: every value is the same in q5_0, at every scale that f16 has") {
    std::array<std::byte, plugin::Q5_0::bytes> block{};
    std::array<float, model::mxfp4_values> found{};
    for (int exponent = 104; exponent <= 143; ++exponent) {
        const auto codes = codes_from(static_cast<size_t>(exponent));
        model::write_as_q5_0(static_cast<uint8_t>(exponent), codes, block);
        plugin::Q5_0::widen(block.data(), found.data());
        for (size_t i = 0; i < codes.size(); ++i)
            CHECK(found.at(i) == std::ldexp(e2m1.at(codes.at(i)), exponent - 127));
    }
}

TEST_CASE("mxfp4: a scale beyond f16 is refused, unless all values are 0") {
    std::array<std::byte, plugin::Q5_0::bytes> block{};
    for (const int exponent : {0, 103, 144, 255}) {
        CHECK_THAT(
            message_of([&] { model::write_as_q5_0(static_cast<uint8_t>(exponent), codes_from(0), block); }),
            contains("the scale 2^" + std::to_string(exponent - 127) + " is not supported; expected 2^-23 to 2^16"));
        model::write_as_q5_0(static_cast<uint8_t>(exponent), std::array<uint8_t, model::mxfp4_values>{}, block);
        std::array<float, model::mxfp4_values> found{};
        found.fill(1);
        plugin::Q5_0::widen(block.data(), found.data());
        for (const float value : found) CHECK(value == 0);
    }
}

TEST_CASE("mxfp4: a folder's rows that take turns, and their neighbours in a byte") {
    // Two matrices of four rows of 64 values; the exponent of a row is 127 plus its number.
    std::vector<std::byte> blocks, scales;
    for (int row = 0; row < 8; ++row)
        for (int b = 0; b < 2; ++b) {
            scales.push_back(static_cast<std::byte>(120 + row));
            for (int i = 0; i < 16; ++i) blocks.push_back(static_cast<std::byte>(2 + b + 16 * 5)); // 1 or 1.5, then 3
        }
    model::Weights weights("w.safetensors");
    weights.add_other("up_blocks", bytes_of(blocks, {2, 4, 2, 16}));
    weights.add_other("up_scales", bytes_of(scales, {2, 4, 2}));
    const model::Weight odd = model::mxfp4_of_folder(weights, "up", {2, 4, 64, 1, 2});
    CHECK(odd.type.shape == Shape{2, 2, 64});
    const std::vector<float> found = widened(odd);
    for (size_t row = 0; row < 4; ++row)
        for (size_t i = 0; i < 64; ++i) {
            const float value = i % 2 == 1 ? 3 : i < 32 ? 1 : 1.5F;
            CHECK(found.at(row * 64 + i) == std::ldexp(value, static_cast<int>(120 + 2 * row + 1) - 127));
        }
    CHECK_THAT(message_of([&] {
                   (void)model::mxfp4_of_folder(weights, "up", {2, 8, 32});
               }),
               contains("'up_blocks': expected U8 (2, 8, 1, 16), found U8 (2, 4, 2, 16)"));
    CHECK_THAT(message_of([&] {
                   (void)model::mxfp4_of_folder(weights, "up", {2, 4, 40});
               }),
               contains("rows of 40 values are no whole blocks of 32"));
    CHECK_THAT(message_of([&] {
                   (void)model::mxfp4_of_folder(weights, "down", {2, 4, 64});
               }),
               contains("no tensor 'down_blocks'"));
}
