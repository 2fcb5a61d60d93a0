#include "model/codebooks.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "model/codebook_grids.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

namespace lamina::model {
namespace {

using plugin::I4_K;

// ---- Codebooks ----

// A number of a codebook of i4_k: which one, and above that the sign.
using Code = uint32_t;
constexpr Code negative = 8;

// Entries of Count numbers, of which each is one of a few: four bits for each, the first one's lowest.
template <size_t Count> class Grid {
  public:
    // `codes`: of the numbers that the digits of an entry count.
    Grid(std::string_view digits, const std::array<Code, Count == 8 ? 4 : 8> &codes) {
        constexpr size_t of_entry = Count == 8 ? 4 : 3, bits = Count == 8 ? 2 : 3;
        for (size_t at = 0; at < digits.size(); at += of_entry) {
            uint32_t packed = 0, entry = 0;
            std::from_chars(digits.data() + at, digits.data() + at + of_entry, packed, 16);
            for (size_t i = 0; i < Count; ++i) entry |= codes[packed >> i * bits & ((1U << bits) - 1)] << i * 4;
            entries_.push_back(entry);
        }
    }
    uint32_t operator[](size_t entry) const { return entries_[entry]; }

  private:
    std::vector<uint32_t> entries_;
};

constexpr size_t of_one_and_two_bits = 0, of_iq3_xxs = 1, of_iq3_s = 2; // codebooks of i4_k
constexpr std::array<Code, 4> of_iq2{2, 4, 5, 6};                       // 8, 25, 43 and none
constexpr std::array<Code, 8> of_iq3{0, 1, 2, 3, 4, 5, 6, 7};           // all, from the smallest on

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

// Bits 0 to 7 as the signs of eight codes.
uint32_t as_signs(uint32_t bits) {
    bits = (bits & 255U) | (bits & 255U) << 12U;
    bits = (bits & 0x000f000fU) | (bits & 0x000f000fU) << 6U;
    bits = (bits & 0x03030303U) | (bits & 0x03030303U) << 3U;
    return (bits & 0x11111111U) * negative;
}
// Eight times four bits as the lower halves of eight bytes.
uint64_t as_bytes(uint32_t codes) {
    uint64_t v = codes;
    v = (v | v << 16U) & 0x0000ffff0000ffffU;
    v = (v | v << 8U) & 0x00ff00ff00ff00ffU;
    return (v | v << 4U) & 0x0f0f0f0f0f0f0f0fU;
}

// A block of i4_k, part by part. `factor`: two bytes, in f16; numbers times a scale are eight times what they stand
// for.
class Out {
  public:
    Out(std::byte *block, const uint8_t *factor, size_t book) : block_(block) {
        std::memset(block, 0, static_cast<size_t>(I4_K::bytes));
        std::memcpy(block, factor, 2);
        block[I4_K::book_at] = static_cast<std::byte>(book);
    }
    // Of sixteen values: an odd number.
    void scale(size_t part, uint32_t steps) const {
        block_[static_cast<size_t>(I4_K::scales_at) + part / 2] |= static_cast<std::byte>(steps / 2 << part % 2 * 4);
    }
    // Of eight values from 8 * eight on.
    void put(size_t eight, uint32_t codes) const {
        const auto [byte, upper] = I4_K::place_of(static_cast<int64_t>(eight * 8));
        uint64_t both = 0;
        std::memcpy(&both, block_ + byte, sizeof both);
        both |= as_bytes(codes) << (upper ? 4U : 0U);
        std::memcpy(block_ + byte, &both, sizeof both);
    }

  private:
    std::byte *block_;
};

// f16 factor; for 32 values four entries of 8 bits, then 7 signs of each and 4 bits of the scale.
void iq2_xxs(const uint8_t *block, std::byte *to) {
    static const Grid<8> grid(grids::iq2_xxs, of_iq2);
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 8; ++part) {
        const uint8_t *entries = block + 2 + part * 8;
        const auto rest = at<uint32_t>(entries, 4);
        for (size_t half = 0; half < 2; ++half) out.scale(part * 2 + half, 2 * (rest >> 28U) + 1);
        for (size_t i = 0; i < 4; ++i)
            out.put(part * 4 + i, grid[entries[i]] | as_signs(all_signs(rest >> i * 7 & 127U)));
    }
}

// f16 factor; entries of 9 bits with 7 signs; scales.
void iq2_xs(const uint8_t *block, std::byte *to) {
    static const Grid<8> grid(grids::iq2_xs, of_iq2);
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 16; ++part) {
        out.scale(part, odd(block + 66, part));
        for (size_t i = part * 2; i < part * 2 + 2; ++i) {
            const auto code = at<uint16_t>(block, 2 + i * 2);
            out.put(i, grid[code & 511U] | as_signs(all_signs(code >> 9U)));
        }
    }
}

// f16 factor; the lower 8 bits of entries; signs; the upper two bits of entries; scales.
void iq2_s(const uint8_t *block, std::byte *to) {
    static const Grid<8> grid(grids::iq2_s, of_iq2);
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 16; ++part) {
        out.scale(part, odd(block + 74, part));
        for (size_t i = part * 2; i < part * 2 + 2; ++i)
            out.put(i, grid[block[2 + i] | (block[66 + i / 4] >> i % 4 * 2 & 3U) << 8U] | as_signs(block[34 + i]));
    }
}

// f16 factor; entries of 8 bits; for 32 values 7 signs of each eight and 4 bits of the scale.
void iq3_xxs(const uint8_t *block, std::byte *to) {
    static const Grid<4> grid(grids::iq3_xxs, of_iq3);
    const Out out(to, block, of_iq3_xxs);
    for (size_t part = 0; part < 8; ++part) {
        const auto rest = at<uint32_t>(block, 66 + part * 4);
        for (size_t half = 0; half < 2; ++half) out.scale(part * 2 + half, 2 * (rest >> 28U) + 1);
        for (size_t i = 0; i < 4; ++i) {
            const uint8_t *two = block + 2 + part * 8 + i * 2;
            out.put(part * 4 + i, grid[two[0]] | grid[two[1]] << 16U | as_signs(all_signs(rest >> i * 7 & 127U)));
        }
    }
}

// f16 factor; the lower 8 bits of entries; their ninth bits; signs; scales.
void iq3_s(const uint8_t *block, std::byte *to) {
    static const Grid<4> grid(grids::iq3_s, of_iq3);
    const Out out(to, block, of_iq3_s);
    for (size_t part = 0; part < 16; ++part) out.scale(part, odd(block + 106, part / 2));
    const auto entry = [&](size_t i) { return grid[block[2 + i] | (block[66 + i / 8] >> i % 8 & 1U) << 8U]; };
    for (size_t i = 0; i < 32; ++i) out.put(i, entry(2 * i) | entry(2 * i + 1) << 16U | as_signs(block[74 + i]));
}

// Eight numbers -1, 0 or 1, to all of which an eighth is added, or from all of which it is taken: eight times that.
const Grid<8> &of_iq1(bool less) {
    static const Grid<8> taken(grids::iq1, {negative | 3, negative | 0, 1, 0}), // -9, -1, 7
        added(grids::iq1, {negative | 1, 0, 3, 0});                             // -7, 1, 9
    return less ? taken : added;
}

// f16 factor; the lower 8 bits of entries; for 32 values the upper three bits of four entries, three bits of the scale,
// and whether an eighth is taken.
void iq1_s(const uint8_t *block, std::byte *to) {
    const Out out(to, block, of_one_and_two_bits);
    for (size_t part = 0; part < 8; ++part) {
        const auto rest = at<uint16_t>(block, 34 + part * 2);
        for (size_t half = 0; half < 2; ++half) out.scale(part * 2 + half, 2U * (rest >> 12U & 7U) + 1);
        for (size_t i = 0; i < 4; ++i)
            out.put(part * 4 + i, of_iq1((rest & 0x8000U) != 0)[block[2 + part * 4 + i] | (rest >> i * 3 & 7U) << 8U]);
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
            out.put(i, of_iq1((rest & 8U) != 0)[block[i] | (rest & 7U) << 8U]);
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
