// A product of matrices where there is no device to compute it, such as while a model is read.
#pragma once

#include <span>

namespace lamina {

// y (rows, outputs) = x (rows, inner) times weight (outputs, inner), transposed, + bias (outputs), on all processors.
// The sizes follow from those of the bias and of y. Sums are floats, and those of 64 products are rounded together.
void multiply(std::span<const float> x, std::span<const float> weight, std::span<const float> bias, std::span<float> y);

} // namespace lamina
