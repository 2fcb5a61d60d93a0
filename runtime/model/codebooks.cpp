#include "model/codebooks.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "model/codebook_grids.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace lamina::model {
namespace {

using plugin::I4_K;

// ---- Codebooks ----

// Entries of Count numbers, of which each is one of a few.
template <size_t Count> class Grid {
  public:
    Grid(std::string_view digits, const std::vector<int8_t> &numbers) {
        constexpr size_t of_entry = Count == 8 ? 4 : 3, bits = Count == 8 ? 2 : 3;
        for (size_t at = 0; at < digits.size(); at += of_entry) {
            uint32_t packed = 0;
            std::from_chars(digits.data() + at, digits.data() + at + of_entry, packed, 16);
            auto &entry = entries_.emplace_back();
            for (size_t i = 0; i < Count; ++i) entry[i] = numbers[packed >> i * bits & ((1U << bits) - 1)];
        }
    }
    const std::array<int8_t, Count> &operator[](size_t entry) const { return entries_[entry]; }

  private:
    std::vector<std::array<int8_t, Count>> entries_;
};

const std::vector<int8_t> &of_iq2() {
    static const std::vector<int8_t> numbers{8, 25, 43, 0};
    return numbers;
}

// ---- Blocks ----

template <class T> T at(const uint8_t *block, size_t byte) {
    T value;
    std::memcpy(&value, block + byte, sizeof value);
    return value;
}
// A scale of four bits, two of which share a byte, as an odd number.
uint32_t odd(const uint8_t *scales, size_t i) { return 2 * (scales[i / 2] >> i % 2 * 4 & 15U) + 1; }
// The eighth sign of eight: the number of negative ones is even.
uint32_t all_signs(uint32_t seven) { return seven | static_cast<uint32_t>(std::popcount(seven) % 2) << 7U; }

// A block of i4_k, part by part. `factor`: two bytes, in f16; numbers times a scale are eight times what they stand
// for.
class Out {
  public:
    Out(std::byte *block, const uint8_t *factor, size_t book) : block_(block) {
        std::memset(block, 0, static_cast<size_t>(I4_K::bytes));
        std::memcpy(block, factor, 2);
        block[I4_K::book_at] = static_cast<std::byte>(book);
        const I4_K::Book &numbers = I4_K::books.at(book);
        for (uint8_t i = 0; i < 8; ++i) codes_.at(numbers.at(i)) = i;
    }
    // Of sixteen values: an odd number.
    void scale(size_t part, uint32_t steps) const {
        block_[static_cast<size_t>(I4_K::scales_at) + part / 2] |= static_cast<std::byte>(steps / 2 << part % 2 * 4);
    }
    // Numbers that follow each other, the i-th of which is negative if bit i is set.
    template <size_t Count> void put(size_t first, const std::array<int8_t, Count> &numbers, uint32_t signs) const {
        for (size_t i = 0; i < Count; ++i)
            number(first + i, (signs >> i & 1U) != 0 ? -int{numbers[i]} : int{numbers[i]});
    }
    void number(size_t i, int value) const {
        const auto [byte, upper] = I4_K::place_of(static_cast<int64_t>(i));
        const uint32_t code = codes_.at(static_cast<size_t>(std::abs(value))) | (value < 0 ? 8U : 0U);
        block_[byte] |= static_cast<std::byte>(code << (upper ? 4U : 0U));
    }

  private:
    std::byte *block_;
    std::array<uint8_t, 128> codes_{}; // of the numbers of the codebook
};

constexpr size_t of_one_and_two_bits = 0, of_iq3_xxs = 1, of_iq3_s = 2; // codebooks of i4_k

// f16 factor; for 32 values four entries of 8 bits, then 7 signs of each and 4 bits of the scale.
void iq2_xxs(const uint8_t *block, std::byte *to) {
    static const Grid<8> grid(grids::iq2_xxs, of_iq2());
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 8; ++part) {
        const uint8_t *entries = block + 2 + part * 8;
        const auto rest = at<uint32_t>(entries, 4);
        for (size_t half = 0; half < 2; ++half) out.scale(part * 2 + half, 2 * (rest >> 28U) + 1);
        for (size_t i = 0; i < 4; ++i) out.put(part * 32 + i * 8, grid[entries[i]], all_signs(rest >> i * 7 & 127U));
    }
}

// f16 factor; entries of 9 bits with 7 signs; scales.
void iq2_xs(const uint8_t *block, std::byte *to) {
    static const Grid<8> grid(grids::iq2_xs, of_iq2());
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 16; ++part) {
        out.scale(part, odd(block + 66, part));
        for (size_t i = part * 2; i < part * 2 + 2; ++i) {
            const auto code = at<uint16_t>(block, 2 + i * 2);
            out.put(i * 8, grid[code & 511U], all_signs(code >> 9U));
        }
    }
}

// f16 factor; the lower 8 bits of entries; signs; the upper two bits of entries; scales.
void iq2_s(const uint8_t *block, std::byte *to) {
    static const Grid<8> grid(grids::iq2_s, of_iq2());
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 16; ++part) {
        out.scale(part, odd(block + 74, part));
        for (size_t i = part * 2; i < part * 2 + 2; ++i)
            out.put(i * 8, grid[block[2 + i] | (block[66 + i / 4] >> i % 4 * 2 & 3U) << 8U], block[34 + i]);
    }
}

// f16 factor; entries of 8 bits; for 32 values 7 signs of each eight and 4 bits of the scale.
void iq3_xxs(const uint8_t *block, std::byte *to) {
    static const Grid<4> grid(grids::iq3_xxs, {8, 24, 40, 56, 72, 88, 104, 124});
    const Out out(to, block, of_iq3_xxs);
    for (size_t part = 0; part < 8; ++part) {
        const auto rest = at<uint32_t>(block, 66 + part * 4);
        for (size_t half = 0; half < 2; ++half) out.scale(part * 2 + half, 2 * (rest >> 28U) + 1);
        for (size_t i = 0; i < 8; ++i)
            out.put(part * 32 + i * 4, grid[block[2 + part * 8 + i]], all_signs(rest >> i / 2 * 7 & 127U) >> i % 2 * 4);
    }
}

// f16 factor; the lower 8 bits of entries; their ninth bits; signs; scales.
void iq3_s(const uint8_t *block, std::byte *to) {
    static const Grid<4> grid(grids::iq3_s, {8, 24, 40, 56, 72, 88, 104, 120});
    const Out out(to, block, of_iq3_s);
    for (size_t part = 0; part < 16; ++part) out.scale(part, odd(block + 106, part / 2));
    for (size_t i = 0; i < 64; ++i)
        out.put(i * 4, grid[block[2 + i] | (block[66 + i / 8] >> i % 8 & 1U) << 8U],
                uint32_t{block[74 + i / 2]} >> i % 2 * 4);
}

// Eight numbers -1, 0 or 1, to all of which an eighth is added, or from all of which it is taken.
void put_eighths(const Out &out, size_t first, const std::array<int8_t, 8> &entry, bool less) {
    for (size_t i = 0; i < entry.size(); ++i) out.number(first + i, entry.at(i) * 8 + (less ? -1 : 1));
}
const Grid<8> &of_iq1() {
    static const Grid<8> grid(grids::iq1, {-1, 0, 1, 0});
    return grid;
}

// f16 factor; the lower 8 bits of entries; for 32 values the upper three bits of four entries, three bits of the scale,
// and whether an eighth is taken.
void iq1_s(const uint8_t *block, std::byte *to) {
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 8; ++part) {
        const auto rest = at<uint16_t>(block, 34 + part * 2);
        for (size_t half = 0; half < 2; ++half) out.scale(part * 2 + half, 2U * (rest >> 12U & 7U) + 1);
        for (size_t i = 0; i < 4; ++i)
            put_eighths(out, part * 32 + i * 8, of_iq1()[block[2 + part * 4 + i] | (rest >> i * 3 & 7U) << 8U],
                        (rest & 0x8000U) != 0);
    }
}

// The lower 8 bits of entries; for each the upper three bits, and whether an eighth is taken; four words with four
// scales of three bits each. The upper four bits of these words are the f16 factor.
void iq1_m(const uint8_t *block, std::byte *to) {
    std::array<uint16_t, 4> words{};
    uint32_t factor = 0;
    for (size_t w = 0; w < words.size(); ++w) {
        words.at(w) = at<uint16_t>(block, 48 + w * 2);
        factor |= static_cast<uint32_t>(words.at(w) >> 12U) << w * 4;
    }
    const auto bits = static_cast<uint16_t>(factor);
    uint8_t half[2];
    std::memcpy(half, &bits, sizeof half);
    const Out out(to, half, of_one_and_two_bits);
    for (size_t part = 0; part < 16; ++part) {
        out.scale(part, 2U * (words.at(part / 4) >> part % 4 * 3 & 7U) + 1);
        for (size_t i = part * 2; i < part * 2 + 2; ++i) {
            const uint32_t rest = block[32 + i / 2] >> i % 2 * 4;
            put_eighths(out, i * 8, of_iq1()[block[i] | (rest & 7U) << 8U], (rest & 8U) != 0);
        }
    }
}

// ---- Ternary values ----

// A block of q2_k: factor * q - factor. `number(i)`: 0 for -1, 1 for 0, 2 for 1.
template <class F> void put_ternary(const uint8_t *factor, std::byte *to, F &&number) {
    using plugin::Q2_K;
    std::memset(to, 0, static_cast<size_t>(Q2_K::bytes));
    for (int64_t part = 0; part < Q2_K::values / Q2_K::part; ++part) to[part] = std::byte{0x11};
    for (const int64_t half : {0, 2}) std::memcpy(to + Q2_K::scale_at + half, factor, 2);
    for (int64_t i = 0; i < Q2_K::values; ++i) {
        const auto [byte, shift] = plugin::detail::two_bits_of(i);
        to[Q2_K::low_at + byte] |= static_cast<std::byte>(number(static_cast<size_t>(i)) << shift);
    }
}

// Five numbers a byte, which is 256 / 243 times the number whose digits they are to base 3: the first digits of 32
// values, then the next ones; likewise of 16; then four a byte, of 4. f16 factor.
void tq1_0(const uint8_t *block, std::byte *to) {
    put_ternary(block + 52, to, [&](size_t i) {
        constexpr std::array<uint32_t, 5> powers{1, 3, 9, 27, 81};
        size_t first = 0, wide = 32, from = 0;
        if (i >= 240)
            first = 240, wide = 4, from = 48;
        else if (i >= 160)
            first = 160, wide = 16, from = 32;
        const uint32_t byte = block[from + (i - first) % wide] * powers.at((i - first) / wide) & 255U;
        return byte * 3 >> 8U;
    });
}

// Two bits a value: of 32 values the lowest bits of 32 bytes, then the next ones. f16 factor.
void tq2_0(const uint8_t *block, std::byte *to) {
    put_ternary(block + 64, to, [&](size_t i) {
        const auto [byte, shift] = plugin::detail::two_bits_of(static_cast<int64_t>(i));
        return static_cast<uint32_t>(block[byte]) >> shift & 3U;
    });
}

// Blocks of q4_0 with the same factor, which comes first: (value + 8) * factor - 8 * factor.
template <class F> void put_small(const uint8_t *block, std::byte *to, size_t values, F &&value) {
    using plugin::Q4_0;
    constexpr auto of_block = static_cast<size_t>(Q4_0::values), bytes = static_cast<size_t>(Q4_0::bytes);
    for (size_t first = 0; first < values; first += of_block, to += bytes) {
        std::memcpy(to, block, 2);
        for (size_t i = 0; i < of_block / 2; ++i)
            to[2 + i] = static_cast<std::byte>((value(first + i) + 8) | (value(first + i + of_block / 2) + 8) << 4);
    }
}

// A bit a value: 1 or -1. f16 factor first.
void q1_0(const uint8_t *block, std::byte *to) {
    put_small(block, to, 128, [&](size_t i) { return (block[2 + i / 8] >> i % 8 & 1) != 0 ? 1 : -1; });
}

// Two bits a value: -1 to 2. f16 factor first.
void q2_0(const uint8_t *block, std::byte *to) {
    put_small(block, to, 64, [&](size_t i) { return (block[2 + i / 4] >> i % 4 * 2 & 3) - 1; });
}

constexpr std::array codebooks{
    Codebook{"IQ2_XXS", DType::i4_k, 66, iq2_xxs}, Codebook{"IQ2_XS", DType::i4_k, 74, iq2_xs},
    Codebook{"IQ2_S", DType::i4_k, 82, iq2_s},     Codebook{"IQ3_XXS", DType::i4_k, 98, iq3_xxs},
    Codebook{"IQ3_S", DType::i4_k, 110, iq3_s},    Codebook{"IQ1_S", DType::i4_k, 50, iq1_s},
    Codebook{"IQ1_M", DType::i4_k, 56, iq1_m},     Codebook{"TQ1_0", DType::q2_k, 54, tq1_0},
    Codebook{"TQ2_0", DType::q2_k, 66, tq2_0},     Codebook{"Q1_0", DType::q4_0, 18, q1_0, 128},
    Codebook{"Q2_0", DType::q4_0, 18, q2_0, 64}};

} // namespace

const Codebook *codebook_of(std::string_view ggml) {
    for (const Codebook &each : codebooks)
        if (each.ggml == ggml) return &each;
    return nullptr;
}

Weight by_codebook(const Codebook &codebook, const Shape &shape, std::span<const std::byte> stored,
                   std::shared_ptr<const void> owner) {
    Weight raw{TensorType(), stored, std::move(owner)};
    return Weight::made_of({codebook.dtype, shape}, {std::move(raw)}, [&codebook, stored](std::span<std::byte> out) {
        const plugin::StorageType &kept = storage_of(codebook.dtype);
        const auto from = static_cast<size_t>(codebook.block_bytes),
                   to = static_cast<size_t>(kept.block_bytes * (codebook.block_values / kept.block_values));
        const auto *bytes = reinterpret_cast<const uint8_t *>(stored.data());
        const size_t blocks = stored.size() / from, part = 4096;
        in_parallel((blocks + part - 1) / part, cores(), [&](size_t piece, size_t) {
            for (size_t block = piece * part; block < std::min(blocks, (piece + 1) * part); ++block)
                codebook.write(bytes + block * from, out.data() + block * to);
        });
    });
}

} // namespace lamina::model
