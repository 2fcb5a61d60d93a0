#include "architectures/alibi.hpp"

#include <bit>
#include <cmath>
#include <vector>

namespace lamina::architectures {

model::Weight alibi_slopes(int64_t heads, double exponent) {
    const auto n = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
    std::vector<float> out;
    for (int64_t i = 0; i < heads; ++i) {
        const double power = i < n ? static_cast<double>(i + 1) / static_cast<double>(n)
                                   : static_cast<double>(2 * (i - n) + 1) / static_cast<double>(2 * n);
        out.push_back(static_cast<float>(std::exp2(-exponent * power)));
    }
    return model::Weight::of(Tensor::of({heads}, out));
}

} // namespace lamina::architectures
