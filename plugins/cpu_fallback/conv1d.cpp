// Convolution over time: gathers the values that each step depends on into rows, then computes a product.
#include "kernels.hpp"
#include "product.hpp"

#include <lamina/plugin/product.hpp> // activate()

#include <cblas.h>

#include <algorithm>

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
    const Tensor x = call.in("x"), weight = call.weight("weight"), bias = call.weight("bias"), y = call.out("y");
    const int64_t steps = y.dim(1), channels = weight.dim(1), width = weight.dim(2);
    const int m = blas_int(steps), n = blas_int(y.cols()), inner = blas_int(channels * width);
    const auto activation = static_cast<Activation>(call.integer("activation"));
    const auto sequence = static_cast<size_t>(x.dim(1) * channels);
    const Matrix seen(steps, inner);
    for (int64_t b = 0; b < y.dim(0); ++b) {
        const auto own = x.f32().subspan(static_cast<size_t>(b) * sequence, sequence);
        for (int64_t s = 0; s < steps; ++s)
            gather(own, channels, width, s * call.integer("stride") - call.integer("padding"), seen.data() + s * inner);
        const auto out = y.f32().subspan(static_cast<size_t>(b * steps * n), static_cast<size_t>(steps * n));
        for (int64_t s = 0; s < steps && bias; ++s) std::ranges::copy(bias.f32(), out.begin() + s * n);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, inner, 1.0f, seen.data(), inner, weight.f32().data(),
                    inner, bias ? 1.0f : 0.0f, out.data(), n);
        if (activation == Activation::none) continue;
        std::ranges::transform(out, out.begin(), [=](double v) { return static_cast<float>(activate(activation, v)); });
    }
}

} // namespace lamina::plugin::cpu_fallback
