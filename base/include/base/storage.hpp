// Converts tensors between their stored format and F32; plugin/dtype.hpp has the formats.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <span>

namespace lamina {

// Fills `out` with the values of `bytes`, exactly; I32 is copied bit by bit. `bytes` may be unaligned.
inline void widen(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
    const plugin::StorageType &type = storage_of(dtype);
    type.widen(bytes.data(), static_cast<int64_t>(bytes.size()) / type.block_bytes, out.data());
}

// Any floating-point tensor as F32, exactly.
[[nodiscard]] inline Tensor widened(const Tensor &narrow) {
    if (narrow.dtype() == DType::f32) return narrow;
    Tensor out(TensorType{DType::f32, narrow.shape()});
    widen(narrow.dtype(), narrow.bytes(), out.f32());
    return out;
}

// Converts an F32 tensor to a dtype for weights. Throws Error(input) if its rows are not whole blocks of that dtype.
[[nodiscard]] inline Tensor narrowed(const Tensor &wide, DType dtype) {
    Tensor out(TensorType{dtype, wide.shape()});
    const plugin::StorageType &type = storage_of(dtype);
    type.narrow(wide.f32().data(), wide.size() / type.block_values, out.bytes().data());
    return out;
}

} // namespace lamina
