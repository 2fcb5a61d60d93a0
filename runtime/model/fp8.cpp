#include "model/fp8.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "model/quantized_matrix.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lamina::model {
namespace {

// The number of scales down or across, and how many values each has.
int64_t size_of_block(int64_t size, int64_t scales, int64_t block) {
    if (block > 0 && (size + block - 1) / block == scales) return block;
    return block <= 0 && scales > 0 && size % scales == 0 ? size / scales : 0;
}

std::vector<float> e4m3_numbers() {
    std::vector<float> out(256);
    for (size_t byte = 0; byte < out.size(); ++byte) out[byte] = widen_e4m3(static_cast<uint8_t>(byte));
    return out;
}

} // namespace

float widen_e4m3(uint8_t byte) {
    constexpr int bias = 7, mantissa_bits = 3;
    const int exponent = byte >> mantissa_bits & 15, mantissa = byte & 7;
    float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                                    : std::ldexp(static_cast<float>(8 + mantissa), exponent - bias - mantissa_bits);
    if (exponent == 15 && mantissa == 7) magnitude = std::numeric_limits<float>::quiet_NaN();
    return (byte & 0x80) != 0 ? -magnitude : magnitude;
}

Weight fp8_matrix(const Weights &weights, const std::string &name, const Fp8 &settings) {
    const StoredTensor numbers = stored_at(weights, name);
    const Shape shape = numbers.shape;
    if (shape.size() != 2) refuse_stored(weights, name, "expected a matrix, found the shape " + to_string(shape));
    (void)stored_at(weights, name, {"F8_E4M3"}, shape);
    const int64_t rows = shape[0], columns = shape[1];
    const StoredTensor found = stored_at(weights, settings.scale);
    const Scales scales(stored_at(weights, settings.scale, {"F32", "F16", "BF16"}, found.shape));
    Shape grid = element_count(found.shape) == 1 ? Shape{1, 1} : found.shape; // of scales
    if (grid == Shape{rows}) grid.push_back(1);
    const bool one_each = grid.size() == 2 && (grid[1] == 1 && (grid[0] == 1 || grid[0] == rows));
    const Fp8::Block wanted = one_each ? Fp8::Block{} : settings.block.value_or(Fp8::Block{});
    const int64_t down = grid.size() == 2 ? size_of_block(rows, grid[0], wanted.rows) : 0,
                  across = grid.size() == 2 ? size_of_block(columns, grid[1], wanted.columns) : 0;
    if (down == 0 || across == 0)
        refuse_stored(
            weights, settings.scale,
            "expected one scale, one for each of " + std::to_string(rows) + " rows, or one for each block" +
                (settings.block ? " of " + std::to_string(wanted.rows) + " x " + std::to_string(wanted.columns) : "") +
                " of " + to_string(shape) + ", found " + to_string(found.shape));
    return Weight::made_of(
        {settings.dtype, shape}, {numbers.weight, scales.weight()},
        [=, count = grid[1], dtype = settings.dtype](std::span<std::byte> out) {
            static const std::vector<float> number = e4m3_numbers();
            const std::span<const std::byte> bytes = numbers.weight.bytes();
            const auto row_bytes = static_cast<size_t>(storage_of(dtype).row_bytes(columns));
            in_parallel(static_cast<size_t>(rows), cores(), [&](size_t row, size_t /*thread*/) {
                std::vector<float> products(static_cast<size_t>(columns));
                const int64_t first = static_cast<int64_t>(row) / down * count;
                for (int64_t begin = 0, block = 0; begin < columns; begin += across, ++block) {
                    const float scale = scales[first + block];
                    for (int64_t column = begin; column < std::min(begin + across, columns); ++column) {
                        const auto place = static_cast<size_t>(column);
                        products[place] = number[static_cast<uint8_t>(bytes[row * products.size() + place])] * scale;
                    }
                }
                storage_of(dtype).narrow(products.data(), columns, out.data() + row * row_bytes);
            });
        });
}

} // namespace lamina::model
