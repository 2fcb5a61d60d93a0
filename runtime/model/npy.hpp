// NumPy's .npy files: how tensors enter and leave the command.
#pragma once

#include <lamina/tensor.hpp>

#include <filesystem>

namespace lamina::model {

// Reads versions 1 to 3, little-endian, C or Fortran order; f4, f8, f2, i1 to i8, u1 to u8 and bool become F32 or I32
// (exactly, or Error(input): "element 3 is 2^40, which does not fit I32").
[[nodiscard]] Tensor read_npy(const std::filesystem::path &file);

// Writes F32 or I32, version 1, to a temporary name and renames it. Throws Error(failure).
void write_npy(const std::filesystem::path &file, const Tensor &tensor);

} // namespace lamina::model
