// Convolution over time: gathers the values that each step depends on into rows, then computes a product.
#include "arrays.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "threads.hpp"

namespace lamina::plugin::cpu_fallback {
namespace {

// Row s of `seen` (S, Cin * K): of every channel, the K values from step s * stride - padding on; 0 outside of x.
void gather(std::span<const float> x, int64_t channels, int64_t width, int64_t first, float *seen) {
    const int64_t length = static_cast<int64_t>(x.size()) / channels;
    for (int64_t k = 0; k < width; ++k) {
        const bool inside = first + k >= 0 && first + k < length;
        for (int64_t c = 0; c < channels; ++c)
            seen[c * width + k] = inside ? x[static_cast<size_t>((first + k) * channels + c)] : 0.0f;
    }
}

} // namespace

void conv1d(const Call &call) {
    const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
    const int64_t steps = y.dim(1), cols = y.cols(), channels = weight.dim(1), width = weight.dim(2);
    const int64_t inner = channels * width, sequence = x.dim(1) * channels;
    const int64_t stride = call.integer("stride"), padding = call.integer("padding");
    const auto activation = static_cast<uint32_t>(call.integer("activation"));
    const WeightRows rows{LAMINA_F32, weight.stored_row(0), cols, inner, inner * static_cast<int64_t>(sizeof(float))};
    const Matrix seen(steps, inner);
    for (int64_t b = 0; b < y.dim(0); ++b) {
        const auto own = x.f32().subspan(static_cast<size_t>(b * sequence), static_cast<size_t>(sequence));
        in_ranges(steps, part_values / inner + 1, [&](int64_t first, int64_t end) {
            for (int64_t s = first; s < end; ++s)
                gather(own, channels, width, s * stride - padding, seen.data() + s * inner);
        });
        float *const out = y.f32().data() + b * steps * cols;
        product(steps, seen.data(), rows, call.weight("bias"), out);
        in_ranges(steps * cols, part_values,
                  [&](int64_t first, int64_t end) { activate(activation, out + first, end - first); });
    }
}

} // namespace lamina::plugin::cpu_fallback
