#include "model/mxfp4.hpp"

#include "base/utf8.hpp"

#include <lamina/plugin/dtype.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace lamina::model {
namespace {

using Codes = std::array<uint8_t, mxfp4_values>;

constexpr int64_t values = mxfp4_values;

// A tensor of q5_0 that is made of these bytes, block by block, where read(block, codes) returns the exponent.
template <class Read>
Weight blocks_of(const std::string &name, const Shape &shape, std::vector<Weight> parts, Read read) {
    return Weight::made_of({DType::q5_0, shape}, std::move(parts), [=](std::span<std::byte> out) {
        constexpr auto bytes = static_cast<size_t>(plugin::Q5_0::bytes);
        Codes codes{};
        for (size_t block = 0; block < out.size() / bytes; ++block) {
            const uint8_t exponent = read(block, codes);
            try {
                write_as_q5_0(exponent, codes, out.subspan(block * bytes, bytes));
            } catch (const Error &error) {
                throw Error(error.code(),
                            "tensor " + in_quotes(name) + ", block " + std::to_string(block) + ": " + error.what());
            }
        }
    });
}

Weight raw(std::span<const std::byte> stored, std::shared_ptr<const void> owner) {
    return {TensorType(), stored, std::move(owner)};
}

uint8_t at(std::span<const std::byte> bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

const OtherTensor &bytes_at(const Weights &weights, const std::string &name, const Shape &shape) {
    const auto found = weights.others().find(name);
    if (found == weights.others().end()) {
        (void)weights.at(name); // throws, unless it is of another dtype
        throw Error(ErrorCode::input, weights.file().string() + ": tensor " + in_quotes(name) + ": expected U8");
    }
    const OtherTensor &tensor = found->second;
    if (tensor.dtype != "U8" || tensor.shape != shape)
        throw Error(ErrorCode::input, weights.file().string() + ": tensor " + in_quotes(name) + ": expected U8 " +
                                          to_string(shape) + ", found " + tensor.dtype + " " + to_string(tensor.shape));
    return tensor;
}

} // namespace

void write_as_q5_0(uint8_t exponent, std::span<const uint8_t, mxfp4_values> codes, std::span<std::byte> block) {
    constexpr std::array twice{0, 1, 2, 3, 4, 6, 8, 12}; // the magnitudes of e2m1
    constexpr int bias = 128, least = -24, most = 15;    // of half the power of two; powers of two that f16 has
    std::array<float, mxfp4_values> in{};
    bool all_zero = true;
    for (size_t i = 0; i < codes.size(); ++i) {
        const int magnitude = twice.at(codes[i] & 7U);
        in.at(i) = static_cast<float>((codes[i] & 8U) != 0 ? -magnitude : magnitude);
        all_zero = all_zero && magnitude == 0;
    }
    const int power = exponent - bias;
    if (!all_zero && (power < least || power > most))
        throw Error(ErrorCode::input, "the scale 2^" + std::to_string(exponent - 127) +
                                          " is not supported; expected 2^" + std::to_string(least + 1) + " to 2^" +
                                          std::to_string(most + 1));
    const float scale = all_zero ? 0 : std::ldexp(1.0F, power);
    plugin::F16::narrow(&scale, block.data());
    std::array<uint8_t, 16> low{};
    uint32_t fifth = 0;
    for (size_t i = 0; i < in.size(); ++i) {
        const auto q = static_cast<uint32_t>(static_cast<int>(in.at(i)) + plugin::Q5_0::middle);
        low.at(i % 16) |= static_cast<uint8_t>((q & 15U) << (i >= 16 ? 4U : 0U));
        fifth |= (q >> 4U) << i;
    }
    std::memcpy(block.data() + plugin::Q5_0::fifth_at, &fifth, sizeof fifth);
    std::memcpy(block.data() + plugin::Q5_0::low_at, low.data(), low.size());
}

Weight mxfp4_of_gguf(const std::string &name, const Shape &shape, std::span<const std::byte> stored,
                     std::shared_ptr<const void> owner) {
    return blocks_of(name, shape, {raw(stored, std::move(owner))}, [stored](size_t block, Codes &codes) {
        const size_t first = block * (1 + mxfp4_values / 2);
        for (size_t i = 0; i < codes.size(); ++i)
            codes.at(i) = at(stored, first + 1 + i % 16) >> (i >= 16 ? 4U : 0U) & 15U;
        return at(stored, first);
    });
}

Weight mxfp4_of_folder(const Weights &weights, const std::string &name, const Mxfp4Rows &which) {
    const int64_t per_row = which.columns / values;
    if (which.columns % values != 0)
        throw Error(ErrorCode::input, weights.file().string() + ": tensor " + in_quotes(name + "_blocks") +
                                          ": rows of " + std::to_string(which.columns) +
                                          " values are no whole blocks of 32");
    const OtherTensor &blocks = bytes_at(weights, name + "_blocks", {which.matrices, which.rows, per_row, values / 2}),
                      &scales = bytes_at(weights, name + "_scales", {which.matrices, which.rows, per_row});
    const int64_t rows = which.rows / which.step;
    const auto of_row = static_cast<size_t>(per_row);
    return blocks_of(name, {which.matrices, rows, which.columns},
                     {raw(blocks.stored, blocks.owner), raw(scales.stored, scales.owner)},
                     [=, stored = blocks.stored, exponents = scales.stored](size_t block, Codes &codes) {
                         const auto row = static_cast<int64_t>(block / of_row);
                         const auto in_file =
                             static_cast<size_t>(row / rows * which.rows + which.first + row % rows * which.step);
                         const size_t place = in_file * of_row + block % of_row;
                         for (size_t i = 0; i < codes.size(); ++i)
                             codes.at(i) = at(stored, place * 16 + i / 2) >> (i % 2 == 1 ? 4U : 0U) & 15U;
                         return at(exponents, place);
                     });
}

} // namespace lamina::model
