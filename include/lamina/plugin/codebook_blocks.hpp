// Formats whose values are numbers of a codebook times a scale: GGML's IQ4_NL and IQ4_XS, whose widening gives GGML's
// values, bit for bit, and I8_K and I4_K, which hold what GGML's other codebooks stand for.
#pragma once

#include <lamina/plugin/blocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace lamina::plugin {

// The numbers of IQ4_NL and IQ4_XS, which lie closer together around 0, as weights do.
inline constexpr std::array<int8_t, 16> iq4_numbers{-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};

namespace detail {

inline float iq4_number(std::byte b, bool upper) { return iq4_numbers[nibble(b, upper)]; }

// Which number is nearest.
inline uint32_t iq4_nearest(float value) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < iq4_numbers.size(); ++i)
        if (std::fabs(value - iq4_numbers[i]) < std::fabs(value - iq4_numbers[best])) best = i;
    return best;
}

// 32 values in 16 bytes: values 0 to 15 in the lower halves, 16 to 31 in the upper ones.
inline void iq4_widen(const std::byte *low, float scale, float *out) {
    for (int64_t i = 0; i < 16; ++i) out[i] = scale * iq4_number(low[i], false);
    for (int64_t i = 0; i < 16; ++i) out[16 + i] = scale * iq4_number(low[i], true);
}
inline void iq4_narrow(const float *in, float scale, std::byte *low) {
    const float inverse = inverse_of(scale);
    for (int64_t i = 0; i < 16; ++i)
        low[i] = static_cast<std::byte>(iq4_nearest(in[i] * inverse) | iq4_nearest(in[16 + i] * inverse) << 4U);
}

} // namespace detail

// A scale, then 32 values.
struct IQ4_NL {
    static constexpr int64_t values = 32, low_at = 2, bytes = 18;
    static void widen(const std::byte *block, float *out) {
        detail::iq4_widen(block + low_at, detail::half_at(block), out);
    }
    static void narrow(const float *in, std::byte *block) {
        detail::put_half(detail::farthest(in, values) / iq4_numbers.front(), block);
        detail::iq4_narrow(in, detail::half_at(block), block + low_at);
    }
};

// 256 values in parts of 32: the block's factor for scales; 16 bits with the upper two bits of each part's scale; 4
// bytes with the lower four bits; the values. Of scales 32 is 0.
struct IQ4_XS {
    static constexpr int64_t values = 256, part = 32, upper_at = 2, lower_at = 4, low_at = 8, bytes = 136;

    static int steps_of(const std::byte *block, int64_t p) {
        const auto upper = static_cast<uint32_t>(block[upper_at + p / 4]) >> static_cast<uint32_t>(p % 4 * 2) & 3U;
        return static_cast<int>(detail::nibble(block[lower_at + p / 2], p % 2 != 0) | upper << 4U) - 32;
    }
    static void widen(const std::byte *block, float *out) {
        for (int64_t p = 0; p < values / part; ++p)
            detail::iq4_widen(block + low_at + p * 16, detail::half_at(block) * static_cast<float>(steps_of(block, p)),
                              out + p * part);
    }
    static void narrow(const float *in, std::byte *block) {
        std::array<float, values / part> scale{};
        for (size_t p = 0; p < scale.size(); ++p)
            scale[p] = detail::farthest(in + p * part, part) / iq4_numbers.front();
        detail::put_half(detail::farthest(scale.data(), values / part) / -32, block);
        const float of_scales = detail::half_at(block); // rounded to f16
        std::memset(block + upper_at, 0, low_at - upper_at);
        for (int64_t p = 0; p < values / part; ++p) {
            const uint32_t steps =
                detail::whole(scale[static_cast<size_t>(p)] * detail::inverse_of(of_scales) + 32.5F, 63);
            block[upper_at + p / 4] |= static_cast<std::byte>(steps >> 4U << static_cast<uint32_t>(p % 4 * 2));
            block[lower_at + p / 2] |= static_cast<std::byte>((steps & 15U) << (p % 2 != 0 ? 4U : 0U));
            detail::iq4_narrow(in + p * part, of_scales * static_cast<float>(static_cast<int>(steps) - 32),
                               block + low_at + p * 16);
        }
    }
};

// 256 values in parts of 16: a factor of 32 bits, a signed byte for each part, a signed byte for each value. No file
// has it.
struct I8_K {
    static constexpr int64_t values = 256, part = 16, scales_at = 4, low_at = 20, bytes = 276;

    static void widen(const std::byte *block, float *out) {
        float of_scales = 0;
        std::memcpy(&of_scales, block, sizeof of_scales);
        for (int64_t i = 0; i < values; ++i) {
            const float scale = of_scales * static_cast<float>(static_cast<int8_t>(block[scales_at + i / part]));
            out[i] = scale * static_cast<float>(static_cast<int8_t>(block[low_at + i]));
        }
    }
    static void narrow(const float *in, std::byte *block) {
        const float of_scales = std::fabs(detail::farthest(in, values)) / (127 * 127);
        std::memcpy(block, &of_scales, sizeof of_scales);
        for (int64_t p = 0; p < values / part; ++p) {
            const float scale = std::fabs(detail::farthest(in + p * part, part)) / 127;
            const auto steps = static_cast<float>(detail::whole(scale * detail::inverse_of(of_scales) + 0.5F, 127));
            block[scales_at + p] = static_cast<std::byte>(static_cast<int8_t>(steps));
            const float inverse = detail::inverse_of(of_scales * steps);
            for (int64_t i = p * part; i < (p + 1) * part; ++i)
                block[low_at + i] = static_cast<std::byte>(
                    static_cast<int8_t>(std::fmin(std::fmax(std::round(in[i] * inverse), -127.0F), 127.0F)));
        }
    }
};

// 256 values in parts of 16: a factor in F16; the number of a codebook in 16 bits; four bits s for each part, whose
// scale is 2 s + 1; four bits a value, in order as in IQ4_XS, of which the upper one is the sign and the others say
// which number of the codebook. A value is factor / 8 * scale * number. No file has it. GGML's IQ1, IQ2 and IQ3 have
// codebooks of up to 2,048 entries of four or eight values, but the values are 3 to 8 numbers and their negatives: in
// this format without loss.
struct I4_K {
    static constexpr int64_t values = 256, part = 16, book_at = 2, scales_at = 4, low_at = 12, bytes = 140;
    using Book = std::array<uint8_t, 8>;
    // Of IQ1 and IQ2, of IQ3_XXS, and of IQ3_S.
    static constexpr std::array<Book, 3> books{
        {{1, 7, 8, 9, 25, 43, 0, 0}, {8, 24, 40, 56, 72, 88, 104, 124}, {8, 24, 40, 56, 72, 88, 104, 120}}};

    // All others are the last.
    static size_t book_of(const std::byte *block) {
        uint16_t book = 0;
        std::memcpy(&book, block + book_at, sizeof book);
        return std::min<size_t>(book, books.size() - 1);
    }
    static uint32_t steps_of(const std::byte *block, int64_t p) {
        return 2 * detail::nibble(block[scales_at + p / 2], p % 2 != 0) + 1;
    }
    // Where the four bits of a value are.
    static std::pair<int64_t, bool> place_of(int64_t i) { return {low_at + i / 32 * 16 + i % 16, i % 32 >= 16}; }

    static void widen(const std::byte *block, float *out) {
        const Book &book = books[book_of(block)];
        const float of_scales = detail::half_at(block) / 8;
        for (int64_t i = 0; i < values; ++i) {
            const auto [byte, upper] = place_of(i);
            const uint32_t code = detail::nibble(block[byte], upper);
            const float scale = of_scales * static_cast<float>(steps_of(block, i / part));
            out[i] = (code < 8 ? scale : -scale) * static_cast<float>(book[code % 8]);
        }
    }
    // With the codebook that changes the values least.
    static void narrow(const float *in, std::byte *block) {
        std::array<std::byte, bytes> tried{};
        std::array<float, values> changed{};
        float least = std::numeric_limits<float>::infinity();
        for (size_t book = 0; book < books.size(); ++book) {
            narrow_by(book, in, tried.data());
            widen(tried.data(), changed.data());
            float squares = 0;
            for (int64_t i = 0; i < values; ++i) {
                const float change = in[i] - changed[static_cast<size_t>(i)];
                squares += change * change;
            }
            if (book != 0 && !(squares < least) && !std::isnan(least)) continue;
            least = squares;
            std::memcpy(block, tried.data(), bytes);
        }
    }

  private:
    static void narrow_by(size_t which, const float *in, std::byte *block) {
        const Book &book = books[which];
        const auto most = static_cast<float>(*std::max_element(book.begin(), book.end()));
        std::memset(block, 0, bytes);
        detail::put_half(std::fabs(detail::farthest(in, values)) / most / 31 * 8, block);
        const auto number = static_cast<uint16_t>(which);
        std::memcpy(block + book_at, &number, sizeof number);
        const float of_scales = detail::half_at(block) / 8; // rounded to f16
        for (int64_t p = 0; p < values / part; ++p) {
            const float scale = std::fabs(detail::farthest(in + p * part, part)) / most;
            const uint32_t s = detail::whole(scale * detail::inverse_of(of_scales) / 2, 15);
            block[scales_at + p / 2] |= static_cast<std::byte>(s << (p % 2 != 0 ? 4U : 0U));
            const float inverse = detail::inverse_of(of_scales * static_cast<float>(2 * s + 1));
            for (int64_t i = p * part; i < (p + 1) * part; ++i) {
                const float value = std::fabs(in[i] * inverse);
                uint32_t best = 0;
                for (uint32_t c = 1; c < book.size(); ++c)
                    if (std::fabs(value - book[c]) < std::fabs(value - book[best])) best = c;
                const auto [byte, upper] = place_of(i);
                block[byte] |= static_cast<std::byte>((best | (in[i] < 0 ? 8U : 0U)) << (upper ? 4U : 0U));
            }
        }
    }
};

} // namespace lamina::plugin
