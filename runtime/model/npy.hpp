// NumPy's .npy files: how tensors enter and leave the command.
#pragma once

#include <lamina/tensor.hpp>

#include <filesystem>

namespace lamina::model {

// Reads versions 1 to 3, little-endian, C or Fortran order, at most LAMINA_MAX_RANK axes. f2, f4 and f8 become F32 (f8
// is rounded to the nearest), bool, i1 to i8 and u1 to u8 become I32. Throws Error(input): what is wrong with the file,
// or "element 3 is 1099511627776, which does not fit I32".
[[nodiscard]] Tensor read_npy(const std::filesystem::path &file);

// Writes F32 or I32, version 1, to a temporary name and renames it. Throws Error(failure).
void write_npy(const std::filesystem::path &file, const Tensor &tensor);

} // namespace lamina::model
