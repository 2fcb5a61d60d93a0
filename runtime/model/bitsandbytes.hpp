// Matrices quantized by bitsandbytes (github.com/bitsandbytes-foundation/bitsandbytes, functional.py and
// backends/default/ops.py). Their values are those of a table, or have scales of f32, so they become single values.
#pragma once

#include "model/weights.hpp"

#include <string>

namespace lamina::model {

// Four bits (nf4 or fp4): MODULE.weight, two values in a byte, the upper half first; MODULE.weight.quant_map, the 16
// numbers; absmax, a factor for each block of values, which with nested_absmax and nested_quant_map is itself
// quantized; and quant_state.bitsandbytes__nf4, the rest as JSON. The result has the dtype that it names. All functions
// throw Error(input) for tensors that are absent, or of other dtypes or shapes.
[[nodiscard]] Weight four_bit_matrix(const Weights &weights, const std::string &module);

// Eight bits (LLM.int8()): MODULE.weight (N, K) of signed bytes, MODULE.SCB (N): a value is byte * SCB / 127, computed
// in f32 and rounded to `dtype`.
[[nodiscard]] Weight eight_bit_matrix(const Weights &weights, const std::string &module, DType dtype);

} // namespace lamina::model
