// Whether a result is as close to the reference as its layer promises.
#pragma once

#include <lamina/plugin.h>
#include <lamina/tensor.hpp>

#include <string>

namespace lamina::session {

// The tolerance that a layer declares for products formed in this arithmetic. One exists: the descriptor was checked.
[[nodiscard]] lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic);

struct Verdict {
    size_t compared = 0; // elements
    bool passed = false;
    double ratio = 0; // the greatest error as a part of what is allowed there; infinite for a misplaced NaN
    // The element behind `ratio`.
    std::string tensor;
    Shape index;
    double got = 0, expected = 0;
    double error = 0, limit = 0;
    uint64_t ulps = 0; // between the two, as floats or as integers

    // "y[1, 36, 5]: expected 0.5, found 0.75: off by 0.25 (4194304 ULP), 12500 times the 2e-05 allowed in its row"
    [[nodiscard]] std::string text() const;
};

// In every row (the last axis): max|got - expected| <= rtol * max|expected| + atol, over finite values; NaN stands
// where NaN is expected, an infinity where one of its sign is. I32 must be equal. Nothing to compare is not passed, nor
// is another shape. `name` is the tensor's.
[[nodiscard]] Verdict compare(const Tensor &got, const Tensor &expected, const lamina_tolerance &tolerance,
                              const std::string &name);

// The verdict over both: passed when both passed, with the worse of the two elements.
[[nodiscard]] Verdict joined(const Verdict &a, const Verdict &b);

} // namespace lamina::session
