// Reads and writes NumPy's .npy files, to exchange tensors with other programs.
//
//     const lamina::Tensor ids = lamina::read_npy("ids.npy");
//     lamina::write_npy("memory.npy", session.run("encode", {{"ids", ids}}).at("memory"));
#pragma once

#include <lamina/tensor.hpp>

#include <filesystem>

namespace lamina {

// Reads versions 1 to 3, little-endian, C or Fortran order, at most 8 axes. f2, f4 and f8 become F32 (f8 is rounded to
// the nearest); bool, i1 to i8 and u1 to u8 become I32. Throws Error(input) for a bad file, or with "element 3 is
// 1099511627776, which does not fit I32".
[[nodiscard]] Tensor read_npy(const std::filesystem::path &file);

// Writes F32 or I32 in version 1, to a temporary file that is then renamed, so no file is ever half written. Throws
// Error(failure).
void write_npy(const std::filesystem::path &file, const Tensor &tensor);

} // namespace lamina
