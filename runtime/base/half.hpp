// F16 and BF16 to F32 and back.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lamina {

// Exactly.
[[nodiscard]] float widen_f16(uint16_t bits);  // IEEE 754 binary16, subnormals, infinities and NaNs included
[[nodiscard]] float widen_bf16(uint16_t bits); // the upper half of an F32
// Fills `out` with the elements of `bytes`; F32 and I32 are copied bit by bit. `bytes` may be unaligned.
void widen(DType dtype, std::span<const std::byte> bytes, std::span<float> out);

[[nodiscard]] Tensor widened(const Tensor &narrow); // of F32, F16 or BF16

// To the nearest, ties to even.
[[nodiscard]] uint16_t narrow_f16(float value);
[[nodiscard]] uint16_t narrow_bf16(float value); // value is not NaN
// An F32 tensor as F32 (a copy), F16 or BF16.
[[nodiscard]] Tensor narrowed(const Tensor &wide, DType dtype);

} // namespace lamina
