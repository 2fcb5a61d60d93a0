// The order of bytes in a strip.
#include "strips.hpp"

#include <lamina/plugin/call.hpp>
#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <cstring>

namespace lamina::plugin::cpu_fallback {
namespace {

// A block begins and ends with so many numbers of two bytes. Between them are words of four bytes.
struct Numbers {
    int64_t before, after;
};
constexpr Numbers numbers_of(uint32_t dtype) {
    switch (dtype) {
    case LAMINA_Q8_0:
    case LAMINA_Q4_0:
    case LAMINA_Q5_0:
    case LAMINA_IQ4_NL:
        return {1, 0};
    case LAMINA_Q6_K:
    case LAMINA_Q3_K:
        return {0, 1};
    case LAMINA_Q2_K:
        return {0, 2};
    case LAMINA_I8_K:
        return {0, 0};
    default:
        return {2, 0};
    }
}

// What all rows have at the bytes [begin, end), in pieces of `Bytes` bytes. Returns the end of what it has written.
template <int64_t Bytes>
std::byte *put_pieces(const std::byte *rows, const int64_t (&row)[strip_rows], int64_t begin, int64_t end,
                      std::byte *out) {
    for (int64_t i = begin; i < end; i += Bytes)
        for (const int64_t at : row) {
            std::memcpy(out, rows + at + i, Bytes);
            out += Bytes;
        }
    return out;
}

} // namespace

bool in_strips(uint32_t dtype) {
    return storage_type(dtype).in_blocks() && (dtype != LAMINA_Q8_0 || has_dot_products());
}

void put_strip(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out) {
    const int64_t size = storage_type(dtype).block_bytes, row_bytes = storage_type(dtype).row_bytes(values);
    const auto [before, after] = numbers_of(dtype);
    int64_t row[strip_rows]; // where each begins
    for (int64_t r = 0; r < strip_rows; ++r) row[r] = std::min(r, count - 1) * row_bytes;
    for (int64_t at = 0; at < row_bytes; at += size) {
        out = put_pieces<2>(rows, row, at, at + 2 * before, out);
        out = put_pieces<4>(rows, row, at + 2 * before, at + size - 2 * after, out);
        out = put_pieces<2>(rows, row, at + size - 2 * after, at + size, out);
    }
}

void put_strips(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out) {
    const int64_t row_bytes = storage_type(dtype).row_bytes(values);
    for (; count >= strip_rows; count -= strip_rows, rows += strip_rows * row_bytes, out += strip_rows * row_bytes)
        put_strip(dtype, rows, strip_rows, values, out);
    std::copy_n(rows, count * row_bytes, out);
}

} // namespace lamina::plugin::cpu_fallback
