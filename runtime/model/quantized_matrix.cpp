#include "model/quantized_matrix.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "base/utf8.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace lamina::model {
namespace {

constexpr int64_t in_block = 32;

template <class Format> void write_few_bits(float scale, std::span<const int16_t> in, std::byte *block) {
    plugin::F16::narrow(&scale, block);
    std::array<uint8_t, 16> low{};
    uint32_t fifth = 0;
    for (size_t i = 0; i < in.size(); ++i) {
        const auto q = static_cast<uint32_t>(in[i] + Format::middle);
        low.at(i % 16) |= static_cast<uint8_t>((q & 15U) << (i >= 16 ? 4U : 0U));
        fifth |= (q >> 4U) << i;
    }
    if constexpr (Format::low_at != Format::fifth_at) std::memcpy(block + Format::fifth_at, &fifth, sizeof fifth);
    std::memcpy(block + Format::low_at, low.data(), low.size());
}

void write_q8_0(float scale, std::span<const int16_t> in, std::byte *block) {
    plugin::F16::narrow(&scale, block);
    for (size_t i = 0; i < in.size(); ++i) block[2 + i] = static_cast<std::byte>(in[i]);
}

using WriteBlock = void (*)(float scale, std::span<const int16_t> in, std::byte *block);

struct BlockFormat {
    DType dtype;
    int lowest, highest;
    WriteBlock write;
};
// From the smallest on.
constexpr std::array block_formats{
    BlockFormat{DType::q4_0, -8, 7, write_few_bits<plugin::Q4_0>},
    BlockFormat{DType::q5_0, -16, 15, write_few_bits<plugin::Q5_0>},
    BlockFormat{DType::q8_0, -128, 127, write_q8_0},
};

const BlockFormat *block_format(DType dtype) {
    for (const BlockFormat &each : block_formats)
        if (each.dtype == dtype) return &each;
    return nullptr;
}

// Each part of a row, of up to 32 columns.
void write_row_part(const QuantizedMatrix &matrix, int64_t row, int64_t column, DType dtype, std::byte *out) {
    std::array<int16_t, in_block> integers{};
    std::array<float, in_block> scales{}, products{};
    const auto count = static_cast<size_t>(std::min(in_block, matrix.columns - column));
    const BlockFormat *block = block_format(dtype);
    const std::span<int16_t> q = std::span(integers).first(count);
    matrix.integers(row, column, q);
    matrix.scales(row, column, std::span(scales).first(block != nullptr ? 1 : count));
    if (block != nullptr) return block->write(scales[0], q, out);
    for (size_t i = 0; i < count; ++i) products.at(i) = static_cast<float>(q[i]) * scales.at(i);
    storage_of(dtype).narrow(products.data(), static_cast<int64_t>(count), out);
}

std::string listed_dtypes(std::initializer_list<const char *> dtypes) {
    std::string out;
    for (const char *name : dtypes) out += (out.empty() ? "" : " or ") + std::string(name);
    return out;
}

} // namespace

DType smallest_dtype(const QuantizedMatrix &matrix) {
    if (matrix.columns % in_block == 0 && matrix.group % in_block == 0 && matrix.half_scales)
        for (const BlockFormat &each : block_formats)
            if (matrix.lowest >= each.lowest && matrix.highest <= each.highest) return each.dtype;
    return matrix.scale_dtype;
}

DType wider_dtype(DType a, DType b) {
    const BlockFormat *first = block_format(a), *second = block_format(b);
    if (first != nullptr && second != nullptr) return first->highest > second->highest ? a : b;
    if (first != nullptr || second != nullptr) return first != nullptr ? b : a;
    return a == b ? a : DType::f32;
}

Weight repacked(const QuantizedMatrix &matrix, DType dtype) {
    return Weight::made_of({dtype, {matrix.rows, matrix.columns}}, matrix.parts, [=](std::span<std::byte> out) {
        // Files often have the values of neighbouring rows side by side.
        constexpr int64_t rows_at_once = 16;
        const plugin::StorageType &storage = storage_of(dtype);
        const auto row_bytes = static_cast<size_t>(storage.row_bytes(matrix.columns));
        const auto tiles = static_cast<size_t>((matrix.rows + rows_at_once - 1) / rows_at_once);
        in_parallel(tiles, cores(), [&](size_t tile, size_t /*thread*/) {
            const int64_t first = static_cast<int64_t>(tile) * rows_at_once;
            for (int64_t column = 0; column < matrix.columns; column += in_block)
                for (int64_t row = first; row < std::min(first + rows_at_once, matrix.rows); ++row)
                    write_row_part(matrix, row, column, dtype,
                                   out.data() + static_cast<size_t>(row) * row_bytes +
                                       static_cast<size_t>(storage.row_bytes(column)));
        });
    });
}

bool has_stored(const Weights &weights, const std::string &name) {
    return weights.entries().contains(name) || weights.others().contains(name);
}

StoredTensor stored_at(const Weights &weights, const std::string &name) {
    if (const auto other = weights.others().find(name); other != weights.others().end())
        return {other->second.dtype, other->second.shape,
                Weight{TensorType(), other->second.stored, other->second.owner}};
    const Weight &weight = weights.at(name);
    return {storage_of(weight.type.dtype).safetensors, weight.type.shape, weight};
}

StoredTensor stored_at(const Weights &weights, const std::string &name, std::initializer_list<const char *> dtypes,
                       const Shape &shape) {
    StoredTensor out = stored_at(weights, name);
    const bool known = std::ranges::any_of(dtypes, [&](const char *dtype) { return out.dtype == dtype; });
    if (!known || out.shape != shape)
        refuse_stored(weights, name,
                      "expected " + listed_dtypes(dtypes) + " " + to_string(shape) + ", found " + out.dtype + " " +
                          to_string(out.shape));
    return out;
}

void refuse_stored(const Weights &weights, const std::string &name, const std::string &why) {
    throw Error(ErrorCode::input, weights.file().string() + ": tensor " + in_quotes(name) + ": " + why);
}

Scales::Scales(const StoredTensor &stored)
    : weight_(stored.weight), dtype_(stored.dtype == "F16"    ? DType::f16
                                     : stored.dtype == "BF16" ? DType::bf16
                                                              : DType::f32) {}

float Scales::operator[](int64_t i) const {
    const plugin::StorageType &storage = storage_of(dtype_);
    float out = 0;
    storage.widen(weight_.bytes().data() + static_cast<size_t>(i * storage.block_bytes), 1, &out);
    return out;
}

bool Scales::all_half() const {
    const int64_t count = static_cast<int64_t>(weight_.bytes().size()) / storage_of(dtype_).block_bytes;
    for (int64_t i = 0; dtype_ != DType::f16 && i < count; ++i) {
        const float value = (*this)[i];
        std::array<std::byte, 2> half{};
        float again = 0;
        plugin::F16::narrow(&value, half.data());
        plugin::F16::widen(half.data(), &again);
        if (std::bit_cast<uint32_t>(again) != std::bit_cast<uint32_t>(value)) return false;
    }
    return true;
}

} // namespace lamina::model
