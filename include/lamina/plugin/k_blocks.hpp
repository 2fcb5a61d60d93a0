// GGML's K formats of 4 to 6 bits: blocks of 256 values in parts of 32 or 16. Each part has its own scale, which is an
// integer times the block's scale. Widening gives GGML's values, bit for bit. Narrowing uses the extremes of each part,
// without GGML's search for better scales.
#pragma once

#include <lamina/plugin/blocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lamina::plugin {

// Q4_K, Q5_K: the block's factor for scales and its factor for minima, 8 scales and 8 minima in 12 bytes, 32 bytes of
// fifth bits (Q5_K; bit p belongs to part p), then the lower four bits of parts 2 p and 2 p + 1 in the lower and upper
// halves of 32 bytes each.
template <int Bits> struct FewBitsK {
    static constexpr int64_t values = 256, parts = 8, part = 32, fifth_at = 16, low_at = Bits == 5 ? 48 : 16,
                             bytes = low_at + 128;
    static constexpr float most = (1 << Bits) - 1;
    using Numbers = std::array<uint32_t, parts>; // of 6 bits

    // Parts 0 to 3 use the lower 6 bits of bytes 0 to 3 (scales) and 4 to 7 (minima). Parts 4 to 7 use the remaining
    // bits.
    static void unpack(const std::byte *packed, Numbers &scales, Numbers &minima) {
        const auto at = [&](int64_t i) { return static_cast<uint32_t>(packed[i]); };
        for (size_t p = 0; p < 4; ++p) {
            const auto i = static_cast<int64_t>(p);
            scales[p] = at(i) & 63U, minima[p] = at(i + 4) & 63U;
            scales[p + 4] = (at(i + 8) & 15U) | at(i) >> 6U << 4U;
            minima[p + 4] = at(i + 8) >> 4U | at(i + 4) >> 6U << 4U;
        }
    }
    static void pack(const Numbers &scales, const Numbers &minima, std::byte *packed) {
        for (size_t p = 0; p < 4; ++p) {
            packed[p] = static_cast<std::byte>(scales[p] | scales[p + 4] >> 4U << 6U);
            packed[p + 4] = static_cast<std::byte>(minima[p] | minima[p + 4] >> 4U << 6U);
            packed[p + 8] = static_cast<std::byte>((scales[p + 4] & 15U) | (minima[p + 4] & 15U) << 4U);
        }
    }

    static void widen(const std::byte *block, float *out) {
        Numbers scales{}, minima{};
        unpack(block + 4, scales, minima);
        for (int64_t p = 0; p < parts; ++p) {
            const float scale = detail::half_at(block) * static_cast<float>(scales[static_cast<size_t>(p)]);
            const float minimum = detail::half_at(block + 2) * static_cast<float>(minima[static_cast<size_t>(p)]);
            const std::byte *low = block + low_at + p / 2 * part;
            for (int64_t i = 0; i < part; ++i) {
                uint32_t q = detail::nibble(low[i], p % 2 != 0);
                if constexpr (Bits == 5) q |= (static_cast<uint32_t>(block[fifth_at + i]) >> p & 1U) << 4U;
                out[p * part + i] = scale * static_cast<float>(q) - minimum;
            }
        }
    }

    static void narrow(const float *in, std::byte *block) {
        // The ideal scale and minimum of each part. The minimum is subtracted, and never negative.
        std::array<float, parts> scale{}, minimum{};
        for (size_t p = 0; p < parts; ++p) {
            const float *x = in + p * part;
            const auto [least, largest] = std::minmax_element(x, x + part);
            minimum[p] = std::fmax(-*least, 0.0F);
            scale[p] = std::fmax(*largest + minimum[p], 0.0F) / most;
        }
        detail::put_half(*std::max_element(scale.begin(), scale.end()) / 63, block);
        detail::put_half(*std::max_element(minimum.begin(), minimum.end()) / 63, block + 2);
        const float of_scales = detail::half_at(block), of_minima = detail::half_at(block + 2); // rounded to f16
        Numbers scales{}, minima{};
        std::memset(block + fifth_at, 0, bytes - fifth_at);
        for (size_t p = 0; p < parts; ++p) {
            scales[p] = detail::whole(scale[p] * detail::inverse_of(of_scales) + 0.5F, 63);
            minima[p] = detail::whole(minimum[p] * detail::inverse_of(of_minima) + 0.5F, 63);
            const float inverse = detail::inverse_of(of_scales * static_cast<float>(scales[p]));
            const float offset = of_minima * static_cast<float>(minima[p]);
            std::byte *low = block + low_at + p / 2 * part;
            for (size_t i = 0; i < part; ++i) {
                const uint32_t q = detail::whole((in[p * part + i] + offset) * inverse + 0.5F, most);
                low[i] |= static_cast<std::byte>((q & 15U) << (p % 2 != 0 ? 4U : 0U));
                if constexpr (Bits == 5) block[fifth_at + i] |= static_cast<std::byte>(q >> 4U << p);
            }
        }
        pack(scales, minima, block + 4);
    }
};
using Q4_K = FewBitsK<4>;
using Q5_K = FewBitsK<5>;

// The block has two halves of 128 values. First come the lower four bits, 64 bytes per half (values 0 to 63 of the half
// in the lower halves of the bytes, 64 to 127 in the upper ones). Then the upper two bits, 32 bytes per half (value 32
// j + i in bits 2 j and 2 j + 1 of byte i). Then one signed byte for every 16 values, and the factor of these.
struct Q6_K {
    static constexpr int64_t values = 256, part = 16, high_at = 128, scales_at = 192, scale_at = 208, bytes = 210;

    struct Place { // of a value in a block
        int64_t low, high;
        bool upper;
        uint32_t shift;
    };
    static constexpr Place place_of(int64_t value) {
        const int64_t half = value / 128, i = value % 128;
        return {half * 64 + i % 64, high_at + half * 32 + i % 32, i >= 64, static_cast<uint32_t>(i / 32 * 2)};
    }

    static void widen(const std::byte *block, float *out) {
        const float of_scales = detail::half_at(block + scale_at);
        for (int64_t i = 0; i < values; ++i) {
            const auto [low, high, upper, shift] = place_of(i);
            const uint32_t q = detail::nibble(block[low], upper) | (static_cast<uint32_t>(block[high]) >> shift & 3U)
                                                                       << 4U;
            const float scale = of_scales * static_cast<float>(static_cast<int8_t>(block[scales_at + i / part]));
            out[i] = scale * static_cast<float>(static_cast<int>(q) - 32);
        }
    }

    static void narrow(const float *in, std::byte *block) {
        std::array<float, values / part> scale{};
        for (size_t p = 0; p < scale.size(); ++p) scale[p] = detail::farthest(in + p * part, part) / -32;
        detail::put_half(detail::farthest(scale.data(), values / part) / -128, block + scale_at);
        const float of_scales = detail::half_at(block + scale_at); // rounded to f16
        std::memset(block, 0, scales_at);
        for (size_t p = 0; p < scale.size(); ++p) {
            const float signed_steps = std::round(scale[p] * detail::inverse_of(of_scales));
            const float steps = std::fmin(std::fmax(signed_steps, -128.0F), 127.0F);
            block[scales_at + static_cast<int64_t>(p)] = static_cast<std::byte>(static_cast<int8_t>(steps));
            const float inverse = detail::inverse_of(of_scales * steps);
            for (int64_t i = static_cast<int64_t>(p) * part; i < static_cast<int64_t>(p + 1) * part; ++i) {
                const auto [low, high, upper, shift] = place_of(i);
                const uint32_t q = detail::whole(in[i] * inverse + 32.5F, 63);
                block[low] |= static_cast<std::byte>((q & 15U) << (upper ? 4U : 0U));
                block[high] |= static_cast<std::byte>(q >> 4U << shift);
            }
        }
    }
};

} // namespace lamina::plugin
