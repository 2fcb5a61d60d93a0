// GGML's K formats of 2 and 3 bits: blocks of 256 values in parts of 16. Widening gives GGML's values, bit for bit.
// Narrowing uses the extremes of each part, without GGML's search for better scales.
#pragma once

#include <lamina/plugin/blocks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lamina::plugin {

namespace detail {

// Both have two bits of each value in 64 bytes: of values 32 j + i of half a block in bits 2 j and 2 j + 1 of byte i.
struct TwoBits {
    int64_t byte;
    uint32_t shift;
};
constexpr TwoBits two_bits_of(int64_t value) {
    const int64_t i = value % 128;
    return {value / 128 * 32 + i % 32, static_cast<uint32_t>(i / 32 * 2)};
}

} // namespace detail

// A byte for each part, whose lower half is its scale and whose upper half its minimum, in steps of the block's two
// factors, which follow the values. The minimum is subtracted.
struct Q2_K {
    static constexpr int64_t values = 256, part = 16, low_at = 16, scale_at = 80, bytes = 84;

    static void widen(const std::byte *block, float *out) {
        const float of_scales = detail::half_at(block + scale_at), of_minima = detail::half_at(block + scale_at + 2);
        for (int64_t i = 0; i < values; ++i) {
            const auto [byte, shift] = detail::two_bits_of(i);
            const uint32_t q = static_cast<uint32_t>(block[low_at + byte]) >> shift & 3U;
            const float scale = of_scales * static_cast<float>(detail::nibble(block[i / part], false)),
                        minimum = of_minima * static_cast<float>(detail::nibble(block[i / part], true));
            out[i] = scale * static_cast<float>(q) - minimum;
        }
    }

    static void narrow(const float *in, std::byte *block) {
        std::array<float, values / part> scale{}, minimum{};
        for (size_t p = 0; p < scale.size(); ++p) {
            const float *x = in + p * part;
            const auto [least, largest] = std::minmax_element(x, x + part);
            minimum[p] = std::fmax(-*least, 0.0F);
            scale[p] = std::fmax(*largest + minimum[p], 0.0F) / 3;
        }
        detail::put_half(*std::max_element(scale.begin(), scale.end()) / 15, block + scale_at);
        detail::put_half(*std::max_element(minimum.begin(), minimum.end()) / 15, block + scale_at + 2);
        const float of_scales = detail::half_at(block + scale_at), of_minima = detail::half_at(block + scale_at + 2);
        std::memset(block, 0, scale_at);
        for (int64_t p = 0; p < values / part; ++p) {
            const auto at = static_cast<size_t>(p);
            const uint32_t steps = detail::whole(scale[at] * detail::inverse_of(of_scales) + 0.5F, 15),
                           below = detail::whole(minimum[at] * detail::inverse_of(of_minima) + 0.5F, 15);
            block[p] = static_cast<std::byte>(steps | below << 4U);
            const float inverse = detail::inverse_of(of_scales * static_cast<float>(steps)),
                        offset = of_minima * static_cast<float>(below);
            for (int64_t i = p * part; i < (p + 1) * part; ++i) {
                const auto [byte, shift] = detail::two_bits_of(i);
                block[low_at + byte] |=
                    static_cast<std::byte>(detail::whole((in[i] + offset) * inverse + 0.5F, 3) << shift);
            }
        }
    }
};

// 32 bytes with the third bits (of value 32 p + i bit p of byte i), the lower two bits, the parts' scales, which have
// six bits of which 32 is 0, and the factor of these. Scales 0 to 7 have their lower four bits in the lower halves of
// 8 bytes, 8 to 15 in the upper ones; scale 4 p + i has its upper two in bits 2 p and 2 p + 1 of the i-th of 4 bytes.
struct Q3_K {
    static constexpr int64_t values = 256, part = 16, low_at = 32, scales_at = 96, scale_at = 108, bytes = 110;

    static uint32_t steps_of(const std::byte *block, int64_t p) {
        const std::byte *scales = block + scales_at;
        return detail::nibble(scales[p % 8], p >= 8) |
               (static_cast<uint32_t>(scales[8 + p % 4]) >> static_cast<uint32_t>(p / 4 * 2) & 3U) << 4U;
    }

    static void widen(const std::byte *block, float *out) {
        const float of_scales = detail::half_at(block + scale_at);
        for (int64_t i = 0; i < values; ++i) {
            const auto [byte, shift] = detail::two_bits_of(i);
            const uint32_t q = (static_cast<uint32_t>(block[low_at + byte]) >> shift & 3U) |
                               (static_cast<uint32_t>(block[i % 32]) >> static_cast<uint32_t>(i / 32) & 1U) << 2U;
            const float scale = of_scales * static_cast<float>(static_cast<int>(steps_of(block, i / part)) - 32);
            out[i] = scale * static_cast<float>(static_cast<int>(q) - 4);
        }
    }

    static void narrow(const float *in, std::byte *block) {
        std::array<float, values / part> scale{};
        for (size_t p = 0; p < scale.size(); ++p) scale[p] = detail::farthest(in + p * part, part) / -4;
        detail::put_half(detail::farthest(scale.data(), values / part) / -32, block + scale_at);
        const float of_scales = detail::half_at(block + scale_at); // rounded to f16
        std::memset(block, 0, scale_at);
        for (int64_t p = 0; p < values / part; ++p) {
            const uint32_t steps =
                detail::whole(scale[static_cast<size_t>(p)] * detail::inverse_of(of_scales) + 32.5F, 63);
            block[scales_at + p % 8] |= static_cast<std::byte>((steps & 15U) << (p >= 8 ? 4U : 0U));
            block[scales_at + 8 + p % 4] |= static_cast<std::byte>(steps >> 4U << static_cast<uint32_t>(p / 4 * 2));
            const float inverse = detail::inverse_of(of_scales * static_cast<float>(static_cast<int>(steps) - 32));
            for (int64_t i = p * part; i < (p + 1) * part; ++i) {
                const auto [byte, shift] = detail::two_bits_of(i);
                const uint32_t q = detail::whole(in[i] * inverse + 4.5F, 7);
                block[low_at + byte] |= static_cast<std::byte>((q & 3U) << shift);
                block[i % 32] |= static_cast<std::byte>(q >> 2U << static_cast<uint32_t>(i / 32));
            }
        }
    }
};

} // namespace lamina::plugin
