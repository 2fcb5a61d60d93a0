// MXFP4 (Open Compute Project: OCP Microscaling Formats (MX) Specification, version 1.0): 32 values of four bits, a
// sign, two bits of exponent and one of mantissa, which share a power of two. They are q5_0 without loss, which layers
// take: twice a value is a whole number from -12 to 12.
#pragma once

#include "model/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lamina::model {

inline constexpr size_t mxfp4_values = 32;

// Writes a block of q5_0. `exponent`: of the power of two, plus 127; `codes`: the four bits of each value. Throws
// Error(input) for a power that q5_0's scale, which is f16, cannot be.
void write_as_q5_0(uint8_t exponent, std::span<const uint8_t, mxfp4_values> codes, std::span<std::byte> block);

// Of a GGUF file: blocks of 17 bytes, the exponent, then values 0 to 15 in the lower halves of bytes, and 16 to 31 in
// the upper ones. `shape`: in values; `name`: for messages.
[[nodiscard]] Weight mxfp4_of_gguf(const std::string &name, const Shape &shape, std::span<const std::byte> stored,
                                   std::shared_ptr<const void> owner);

// Of a Hugging Face folder: NAME_blocks (..., rows, blocks, 16), where each byte has two values that follow each other,
// and NAME_scales (..., rows, blocks), the exponents. Takes rows `first`, first + step and so on of each matrix: gates
// and what they multiply take turns. Throws Error(input) unless these tensors are there, and of these shapes.
struct Mxfp4Rows {
    int64_t matrices, rows, columns; // rows: of a matrix in the file
    int64_t first = 0, step = 1;
};
[[nodiscard]] Weight mxfp4_of_folder(const Weights &weights, const std::string &name, const Mxfp4Rows &which);

} // namespace lamina::model
