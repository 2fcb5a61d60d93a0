// Whether a kernel's result agrees with the reference: the rule of lamina_tolerance, row by row.
#pragma once

#include <lamina/plugin.h>
#include <lamina/tensor.hpp>

#include <cstdint>
#include <string>

namespace lamina::session {

// In every row (the last axis): max|got - expected| <= rtol * max|expected| + atol, over the finite values; non-finite
// values in the same places (NaN with NaN, infinities of the same sign).
struct Verdict {
    bool agrees = false;
    double error = 0;   // max|got - expected| over all rows; infinite where non-finite values differ
    double ratio = 0;   // the worst row's error over what it may be: above 1 disagrees
    int64_t index = -1; // flat index of the worst element of the worst row; -1 when nothing differs
    float got = 0, expected = 0;
    uint64_t ulp = 0; // floats between the two values
};

// Both tensors have the same type: F32, or I32, which must be equal. A comparison of nothing does not agree.
[[nodiscard]] Verdict judge(const Tensor &got, const Tensor &expected, const lamina_tolerance &tolerance);

// The worse of two: what a layer with several outputs is judged by.
[[nodiscard]] const Verdict &worse(const Verdict &a, const Verdict &b);

// "(1, 3, 20)": a flat index as one a axis.
[[nodiscard]] std::string place_in(const Shape &shape, int64_t index);

// The tolerance that a layer declares for the arithmetic of one of its variants.
[[nodiscard]] const lamina_tolerance &tolerance_of(const lamina_layer &layer, const std::string &variant);

} // namespace lamina::session
