// Tensors as NumPy arrays and back.
#pragma once

#include "call.hpp"

#include <nanobind/ndarray.h>

#include <lamina/tensor.hpp>

#include <map>
#include <string>

namespace lamina::python {

// By the name that Lamina has for it: "f16".
[[nodiscard]] DType dtype_named(const std::string &name);

// Dense, in host memory, from any library that has DLPack or the buffer protocol.
using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Arrays = std::map<std::string, Array>;

// Copies arrays of float32 and int32.
[[nodiscard]] Tensor tensor_of(const Array &array, const std::string &name);
[[nodiscard]] TensorMap tensors_of(const Arrays &arrays);

// A NumPy array that takes over the tensor's memory. Blocks of several values become float32.
using OwnArray = nb::ndarray<nb::numpy>;
[[nodiscard]] OwnArray array_of(Tensor tensor);
[[nodiscard]] std::map<std::string, OwnArray> arrays_of(TensorMap tensors);

} // namespace lamina::python
