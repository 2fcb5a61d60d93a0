// Rows of a state in q8_0, as kernels can write them alike on every device.
#pragma once

#include <lamina/plugin/blocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace lamina::plugin {

// Writes `n` values, a multiple of 32, as blocks of q8_0. The scale of a block is its greatest magnitude times 1 / 127,
// rounded to f16, and a value is the nearest whole number of scales, halves away from zero. Q8_0::narrow() divides by
// the scale before that is rounded, as GGML does, and rounds quotients, which devices may divide differently. Values of
// a block that is not finite, or beyond f16, are NaN. shaders/common/q8_cache.glsl does the same.
inline void put_q8_0(const float *in, int64_t n, std::byte *out) {
    for (int64_t at = 0; at < n; at += Q8_0::values, out += Q8_0::bytes) {
        float greatest = 0;
        for (int64_t i = at; i < at + Q8_0::values; ++i)
            if (!(std::fabs(in[i]) <= greatest)) greatest = std::fabs(in[i]); // NaN counts as the greatest
        detail::put_half(greatest * (1.0F / 127), out);
        const double scale = detail::half_at(out);
        for (int64_t i = 0; i < Q8_0::values; ++i) {
            const double steps = scale != 0 && std::isfinite(scale) ? std::round(double{in[at + i]} / scale) : 0;
            out[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::clamp(steps, -127.0, 127.0)));
        }
    }
}

} // namespace lamina::plugin
