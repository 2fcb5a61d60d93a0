// Causal convolution of each channel: threads share the channels out.
#include "arrays.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "threads.hpp"

#include <algorithm>

namespace lamina::plugin::cpu_fallback {
namespace {

struct Convolution {
    Tensor x, y, weight, bias, position, lengths, before;
    int64_t steps, width;
    uint32_t activation;

    explicit Convolution(const Call &call)
        : x(call.in("x")), y(call.out("y")), weight(call.weight("weight")), bias(call.weight("bias")),
          position(call.in("position")), lengths(call.in("lengths")), before(call.state("before")), steps(x.dim(1)),
          width(weight.dim(1)), activation(static_cast<uint32_t>(call.integer("activation"))) {}

    // The channels [first, end) of one sequence.
    void channels(int64_t b, int64_t first, int64_t end) const;
};

void Convolution::channels(int64_t b, int64_t first, int64_t end) const {
    const int64_t count = end - first, kept = width - 1;
    // What is before the steps, then the steps: a row for each.
    const Matrix rows(kept + steps, count);
    const bool begun = before && position.i32()[static_cast<size_t>(b)] > 0;
    for (int64_t k = 0; k < kept; ++k)
        if (begun)
            std::copy_n(before.row(b * kept + k).data() + first, count, rows.data() + k * count);
        else
            std::fill_n(rows.data() + k * count, count, 0.0F);
    for (int64_t t = 0; t < steps; ++t)
        std::copy_n(x.row(b * steps + t).data() + first, count, rows.data() + (kept + t) * count);

    const Matrix factors(width, count); // of all channels for each k, as rows have them
    for (int64_t c = 0; c < count; ++c)
        for (int64_t k = 0; k < width; ++k)
            factors.data()[k * count + c] = weight.row(first + c)[static_cast<size_t>(k)];
    for (int64_t t = 0; t < steps; ++t) {
        float *const out = y.row(b * steps + t).data() + first;
        if (bias)
            std::copy_n(bias.f32().data() + first, count, out);
        else
            std::fill_n(out, count, 0.0F);
        for (int64_t k = 0; k < width; ++k) {
            const float *const factor = factors.data() + k * count, *const row = rows.data() + (t + k) * count;
            for (int64_t c = 0; c < count; ++c) out[c] += factor[c] * row[c];
        }
        activate(activation, out, count);
    }
    if (!before) return;
    const int64_t taken = lengths ? lengths.i32()[static_cast<size_t>(b)] : steps;
    for (int64_t k = 0; k < kept; ++k)
        std::copy_n(rows.data() + (taken + k) * count, count, before.row(b * kept + k).data() + first);
}

} // namespace

void causal_conv1d(const Call &call) {
    const Convolution of(call);
    for (int64_t b = 0; b < of.x.dim(0); ++b)
        in_ranges(of.x.cols(), part_values / (of.steps * (of.width + 4)) + 1,
                  [&](int64_t first, int64_t end) { of.channels(b, first, end); });
}

} // namespace lamina::plugin::cpu_fallback
