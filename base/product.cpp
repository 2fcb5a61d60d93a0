#include "base/product.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lamina {
namespace {

// Outputs that are summed together. Compilers keep so many sums in registers, as vectors.
constexpr size_t together = 32, summed = 64;

using Sums = std::array<float, together>;

// weight (count, together)
Sums sum(const float *x, const float *weight, size_t count) {
    Sums out{};
    for (size_t i = 0; i < count; ++i)
        for (size_t n = 0; n < together; ++n) out[n] += x[i] * weight[i * together + n];
    return out;
}

} // namespace

void multiply(std::span<const float> x, std::span<const float> weight, std::span<const float> bias,
              std::span<float> y) {
    if (y.empty()) return;
    const size_t outputs = bias.size(), rows = y.size() / outputs, inner = x.size() / rows;
    in_parallel((outputs + together - 1) / together, cores(), [&](size_t piece, size_t /*thread*/) {
        const size_t first = piece * together, count = std::min(together, outputs - first);
        std::vector<float> transposed(inner * together);
        for (size_t n = 0; n < count; ++n)
            for (size_t i = 0; i < inner; ++i) transposed[i * together + n] = weight[(first + n) * inner + i];
        for (size_t r = 0; r < rows; ++r) {
            Sums sums{};
            std::copy_n(bias.begin() + static_cast<ptrdiff_t>(first), count, sums.begin());
            for (size_t begin = 0; begin < inner; begin += summed) {
                const Sums part = sum(x.data() + r * inner + begin, transposed.data() + begin * together,
                                      std::min(summed, inner - begin));
                for (size_t n = 0; n < together; ++n) sums[n] += part[n];
            }
            std::copy_n(sums.begin(), count, y.begin() + static_cast<ptrdiff_t>(r * outputs + first));
        }
    });
}

} // namespace lamina
