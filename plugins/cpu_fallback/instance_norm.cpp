// Norms over time, of each channel or of groups: threads share them out.
#include "arrays.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t slice = 16; // channels that a thread takes at least: a cache line

struct InstanceNorm {
    Tensor x, y, weight, bias;
    int64_t group;
    double eps;
    uint32_t activation;

    explicit InstanceNorm(const Call &call)
        : x(call.in("x")), y(call.out("y")), weight(call.weight("weight")), bias(call.weight("bias")),
          group(call.integer("group_size")), eps(call.real("eps")),
          activation(static_cast<uint32_t>(call.integer("activation"))) {}

    // The channels [first, first + n), in whole groups, of a sequence of which `length` steps count.
    void channels(int64_t b, int64_t length, int64_t first, int64_t n) const;

  private:
    // Means, and sums of the squared differences from them: those of channels become those of their groups.
    void join(int64_t length, int64_t n, double *mean, double *square) const;
};

void InstanceNorm::join(int64_t length, int64_t n, double *mean, double *square) const {
    const auto size = static_cast<double>(group);
    for (int64_t from = 0; from < n; from += group, mean += group, square += group) {
        double of_all = 0, squares = 0;
        for (int64_t c = 0; c < group; ++c) of_all += mean[c] / size;
        for (int64_t c = 0; c < group; ++c) {
            const double distance = mean[c] - of_all;
            squares += square[c] / size + static_cast<double>(length) / size * distance * distance;
        }
        std::fill_n(mean, group, of_all);
        std::fill_n(square, group, squares);
    }
}

void InstanceNorm::channels(int64_t b, int64_t length, int64_t first, int64_t n) const {
    const Array<double> mean(n), square(n);
    std::fill_n(mean.data(), n, 0.0);
    std::fill_n(square.data(), n, 0.0);
    const auto row = [&](const Tensor &of, int64_t t) { return of.row(b * x.dim(1) + t).data() + first; };
    const double share = 1 / static_cast<double>(std::max<int64_t>(length, 1));
    for (int64_t t = 0; t < length; ++t)
        for (int64_t c = 0; c < n; ++c) mean.data()[c] += row(x, t)[c];
    for (int64_t c = 0; c < n; ++c) mean.data()[c] *= share;
    for (int64_t t = 0; t < length; ++t)
        for (int64_t c = 0; c < n; ++c) {
            const double difference = row(x, t)[c] - mean.data()[c];
            square.data()[c] += difference * difference;
        }
    if (group != 1) join(length, n, mean.data(), square.data());
    for (int64_t c = 0; c < n; ++c) {
        const double factor = weight ? weight.f32()[static_cast<size_t>(first + c)] : 1;
        square.data()[c] = factor / std::sqrt(square.data()[c] * share + eps);
    }
    for (int64_t t = 0; t < length; ++t) {
        float *const out = row(y, t);
        for (int64_t c = 0; c < n; ++c) {
            const double offset = bias ? bias.f32()[static_cast<size_t>(first + c)] : 0;
            out[c] = static_cast<float>((row(x, t)[c] - mean.data()[c]) * square.data()[c] + offset);
        }
        activate(activation, out, n);
    }
    for (int64_t t = length; t < x.dim(1); ++t) std::fill_n(row(y, t), n, 0.0F);
}

} // namespace

void instance_norm(const Call &call) {
    const InstanceNorm of(call);
    const Tensor lengths = call.in("lengths");
    const int64_t cols = of.x.cols(), part = ceil_div(slice, of.group) * of.group, parts = ceil_div(cols, part);
    for (int64_t b = 0; b < of.x.dim(0); ++b) {
        const int64_t length = lengths ? lengths.i32()[static_cast<size_t>(b)] : of.x.dim(1);
        in_ranges(parts, part_values / (of.x.dim(1) * part * 8) + 1, [&](int64_t first, int64_t end) {
            of.channels(b, length, first * part, std::min(cols, end * part) - first * part);
        });
    }
}

} // namespace lamina::plugin::cpu_fallback
