// Grouped convolution over time: gathers the values of a group that each step depends on into rows, for a product.
#include "arrays.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "threads.hpp"

#include <algorithm>

namespace lamina::plugin::cpu_fallback {
namespace {

struct GroupedConvolution {
    Tensor x, residual, weight, bias, y;
    int64_t groups, stride, padding, channels, width, cols; // channels and cols: of a group
    uint32_t activation;

    explicit GroupedConvolution(const Call &call)
        : x(call.in("x")), residual(call.in("residual")), weight(call.weight("weight")), bias(call.weight("bias")),
          y(call.out("y")), groups(call.integer("groups")), stride(call.integer("stride")),
          padding(call.integer("padding")), channels(weight.dim(1)), width(weight.dim(2)), cols(y.cols() / groups),
          activation(static_cast<uint32_t>(call.integer("activation"))) {}

    // Steps [first, end) of group g of sequence b, of whose steps of x `length` count.
    void steps(int64_t b, int64_t g, int64_t first, int64_t end, int64_t length) const;

  private:
    // Of every channel of the group, the K values from step `at` on.
    void gather(int64_t b, int64_t g, int64_t at, int64_t length, float *seen) const;
    // A row of sums, as a row of y.
    void finish(int64_t row, int64_t g, float *sums) const;
};

void GroupedConvolution::gather(int64_t b, int64_t g, int64_t at, int64_t length, float *seen) const {
    for (int64_t k = 0; k < width; ++k) {
        const bool inside = at + k >= 0 && at + k < length;
        const float *const row = inside ? x.row(b * x.dim(1) + at + k).data() + g * channels : nullptr;
        for (int64_t c = 0; c < channels; ++c) seen[c * width + k] = inside ? row[c] : 0.0F;
    }
}

void GroupedConvolution::finish(int64_t row, int64_t g, float *sums) const {
    if (bias)
        for (int64_t n = 0; n < cols; ++n) sums[n] += bias.f32()[static_cast<size_t>(g * cols + n)];
    activate(activation, sums, cols);
    float *const out = y.row(row).data() + g * cols;
    const float *const added = residual ? residual.row(row).data() + g * cols : nullptr;
    for (int64_t n = 0; n < cols; ++n) out[n] = added != nullptr ? sums[n] + added[n] : sums[n];
}

void GroupedConvolution::steps(int64_t b, int64_t g, int64_t first, int64_t end, int64_t length) const {
    const int64_t count = end - first, inner = channels * width;
    const Matrix seen(count, inner), sums(count, cols);
    in_ranges(count, part_values / inner + 1, [&](int64_t from, int64_t to) {
        for (int64_t s = from; s < to; ++s)
            gather(b, g, (first + s) * stride - padding, length, seen.data() + s * inner);
    });
    const WeightRows rows{LAMINA_F32, weight.stored_row(g * cols * channels), cols, inner,
                          inner * static_cast<int64_t>(sizeof(float))};
    static constexpr lamina_tensor no_bias{};
    product(count, seen.data(), rows, Tensor(no_bias), sums.data());
    in_ranges(count, part_values / cols + 1, [&](int64_t from, int64_t to) {
        for (int64_t s = from; s < to; ++s) finish(b * y.dim(1) + first + s, g, sums.data() + s * cols);
    });
}

} // namespace

void grouped_conv1d(const Call &call) {
    const GroupedConvolution of(call);
    const Tensor lengths = call.in("lengths");
    const int64_t steps = of.y.dim(1), all = of.x.dim(1);
    for (int64_t b = 0; b < of.y.dim(0); ++b) {
        const int64_t length = lengths ? std::min<int64_t>(all, lengths.i32()[static_cast<size_t>(b)]) : all;
        for (int64_t g = 0; g < of.groups; ++g)
            for (int64_t first = 0; first < steps; first += PackedRows::most)
                of.steps(b, g, first, std::min(steps, first + PackedRows::most), length);
    }
}

} // namespace lamina::plugin::cpu_fallback
