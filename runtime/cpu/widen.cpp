// Compiled with -O3, which makes vector instructions of these loops: references of large models spend much of their
// time here.
#include "cpu/widen.hpp"

#include "base/parallel.hpp"
#include "base/storage.hpp"

#include <algorithm>

namespace lamina::cpu {
namespace {

constexpr int64_t values_of_a_piece = int64_t{1} << 18;

// Of the table's functions, which every library has, it is not known with which options they were compiled.
template <class Format> void widen_blocks(const std::byte *blocks, int64_t n, float *values) {
    for (int64_t i = 0; i < n; ++i) Format::widen(blocks + i * Format::bytes, values + i * Format::values);
}

using Widen = void (*)(const std::byte *blocks, int64_t n, float *values);

Widen widening_of(DType dtype) {
    switch (dtype) {
    case DType::f32:
    case DType::i32:
        return widen_blocks<plugin::Words>;
    case DType::f16:
        return widen_blocks<plugin::F16>;
    case DType::bf16:
        return widen_blocks<plugin::BF16>;
    case DType::q8_0:
        return widen_blocks<plugin::Q8_0>;
    case DType::q4_0:
        return widen_blocks<plugin::Q4_0>;
    case DType::q4_1:
        return widen_blocks<plugin::Q4_1>;
    case DType::q5_0:
        return widen_blocks<plugin::Q5_0>;
    case DType::q5_1:
        return widen_blocks<plugin::Q5_1>;
    case DType::q4_k:
        return widen_blocks<plugin::Q4_K>;
    case DType::q5_k:
        return widen_blocks<plugin::Q5_K>;
    case DType::q6_k:
        return widen_blocks<plugin::Q6_K>;
    case DType::q2_k:
        return widen_blocks<plugin::Q2_K>;
    case DType::q3_k:
        return widen_blocks<plugin::Q3_K>;
    case DType::iq4_nl:
        return widen_blocks<plugin::IQ4_NL>;
    case DType::iq4_xs:
        return widen_blocks<plugin::IQ4_XS>;
    case DType::i8_k:
        return widen_blocks<plugin::I8_K>;
    case DType::i4_k:
        return widen_blocks<plugin::I4_K>;
    }
    return storage_of(dtype).widen;
}

} // namespace

void widen(const model::Weight &weight, float *out, size_t threads) {
    const plugin::StorageType &type = storage_of(weight.type.dtype);
    const std::span<const std::byte> bytes = weight.bytes();
    const Widen widen = widening_of(weight.type.dtype);
    const int64_t blocks = element_count(weight.type.shape) / type.block_values;
    const int64_t part = std::max<int64_t>(1, values_of_a_piece / type.block_values);
    in_parallel(static_cast<size_t>((blocks + part - 1) / part), threads, [&](size_t piece, size_t) {
        const int64_t first = static_cast<int64_t>(piece) * part;
        widen(bytes.data() + first * type.block_bytes, std::min(part, blocks - first), out + first * type.block_values);
    });
}

} // namespace lamina::cpu
