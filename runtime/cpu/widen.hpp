// Weights as F32, on several threads.
#pragma once

#include "model/weights.hpp"

namespace lamina::cpu {

// Writes the weight's values, exactly; those of I32 bit by bit.
void widen(const model::Weight &weight, float *out, size_t threads);

} // namespace lamina::cpu
