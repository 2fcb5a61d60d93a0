// How the blocks of a strip are read with SIMD: a struct for each format, which unpacks the values of as many rows as a
// vector has lanes. Included once for each instruction set, by way of foreach_target.h.
#if defined(LAMINA_STRIP_FORMATS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_STRIP_FORMATS_INL_HPP
#undef LAMINA_STRIP_FORMATS_INL_HPP
#else
#define LAMINA_STRIP_FORMATS_INL_HPP
#endif

#include "strips.hpp"
#include "unpack-inl.hpp"

#include <lamina/plugin/dtype.hpp>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<uint8_t, decltype(floats)> bytes;
constexpr hn::Repartition<uint16_t, decltype(floats)> halves;
constexpr hn::Repartition<uint32_t, decltype(floats)> unsigned_words;
constexpr hn::Repartition<int32_t, decltype(floats)> words;
using Bytes = hn::Vec<decltype(bytes)>;
using UnsignedWords = hn::Vec<decltype(unsigned_words)>;
using Integers = hn::Vec<decltype(words)>;

// ---- Bits ----

// Shifts bits within bytes, of which those in the mask stay.
HWY_INLINE Bytes shifted_right(Bytes b, int by, uint8_t mask) {
    return hn::And(hn::BitCast(bytes, hn::ShiftRightSame(hn::BitCast(halves, b), by)), hn::Set(bytes, mask));
}
// The lowest four bits of bytes as the highest.
HWY_INLINE Bytes moved_up(Bytes b) { return hn::BitCast(bytes, hn::ShiftLeft<4>(hn::BitCast(halves, b))); }

// Bits of words as floats.
HWY_INLINE Floats bits_of(UnsignedWords w, int from, uint32_t mask) {
    const auto bits = hn::And(hn::ShiftRightSame(w, from), hn::Set(unsigned_words, mask));
    return hn::ConvertTo(floats, hn::BitCast(words, bits));
}

// ---- Formats ----
//
// Of<Format> is a group of a block of a strip, whose values share a scale, for the rows from `lane` on.
//   bits, values               of a value's integer; of a row in the group
//   block_values, block_bytes  of a row in the block; of the whole block
//   offset                     values are scale() * (integer - offset); 0: they are scale() * integer + minimum()
//   minimum()                  otherwise -offset * scale()
//   four<half>(i)              the integers of values 4 i to 4 i + 3 of half the group, as the bytes of each lane
// What depends on the group's number is worked out once: a template argument for it would make code many times as long.

// Where something of all rows is in a block: numbers of 16 bits, and words of four bytes.
class Place {
  public:
    HWY_INLINE Place(const std::byte *block, int64_t lane) : block_(block), lane_(lane) {}
    [[nodiscard]] HWY_INLINE Floats number(int64_t at) const {
        constexpr hn::Rebind<uint16_t, decltype(floats)> d;
        return widened(floats, hn::LoadU(d, reinterpret_cast<const uint16_t *>(block_ + at) + lane_));
    }
    // The same number of 16 bits as a whole number.
    [[nodiscard]] HWY_INLINE UnsignedWords bits(int64_t at) const {
        constexpr hn::Rebind<uint16_t, decltype(unsigned_words)> d;
        return hn::PromoteTo(unsigned_words, hn::LoadU(d, reinterpret_cast<const uint16_t *>(block_ + at) + lane_));
    }
    [[nodiscard]] HWY_INLINE Bytes word(int64_t at, int64_t i) const {
        return hn::LoadU(bytes, reinterpret_cast<const uint8_t *>(block_ + at + i * of_word + 4 * lane_));
    }

    static constexpr int64_t of_number = 2 * strip_rows, of_word = 4 * strip_rows; // bytes

  private:
    const std::byte *block_;
    int64_t lane_;
};

template <class Format> struct Of;

template <int Bits, bool Minimum> struct Of<FewBits<Bits, Minimum>> {
    static constexpr int bits = Bits, values = 32, offset = Minimum ? 0 : FewBits<Bits, Minimum>::middle;
    static constexpr int64_t fifth_at = (Minimum ? 2 : 1) * Place::of_number,
                             low_at = fifth_at + (Bits == 5 ? Place::of_word : 0), block_values = 32,
                             block_bytes = low_at + 4 * Place::of_word;

    HWY_INLINE Of(Place block, int /*number*/) : block_(block) {}
    HWY_INLINE Floats scale() const { return block_.number(0); }
    HWY_INLINE Floats minimum() const {
        if constexpr (Minimum)
            return block_.number(Place::of_number);
        else
            return hn::Mul(scale(), hn::Set(floats, -offset));
    }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        const Bytes low = shifted_right(block_.word(low_at, i), 4 * Half, 0x0f);
        if constexpr (Bits == 4)
            return low;
        else
            return hn::Or(low, fifth_bits(4 * Half + i));
    }

  private:
    // Four bits of each row's word, from bit 4 i on, each as bit 4 of a byte.
    [[nodiscard]] HWY_INLINE Bytes fifth_bits(int i) const {
        alignas(16) static constexpr uint8_t lowest[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
        const auto moved = hn::ShiftRightSame(hn::BitCast(unsigned_words, block_.word(fifth_at, 0)), 4 * i);
        const Bytes same = hn::TableLookupBytes(hn::BitCast(bytes, moved), hn::LoadDup128(bytes, lowest));
        const auto mask = hn::BitCast(bytes, hn::Set(unsigned_words, 0x08040201U));
        return hn::IfThenElseZero(hn::Eq(hn::And(same, mask), mask), hn::Set(bytes, uint8_t{16}));
    }

    Place block_;
};

template <> struct Of<Q8_0> {
    static constexpr int bits = 8, values = 32, offset = 128;
    static constexpr int64_t words_at = Place::of_number, block_values = 32,
                             block_bytes = words_at + 8 * Place::of_word;

    HWY_INLINE Of(Place block, int /*number*/) : block_(block) {}
    HWY_INLINE Floats scale() const { return block_.number(0); }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        return hn::Xor(block_.word(words_at, 4 * Half + i), hn::Set(bytes, uint8_t{128}));
    }

  private:
    Place block_;
};

template <int Bits> struct Of<FewBitsK<Bits>> {
    static constexpr int bits = Bits, values = 32, offset = 0;
    static constexpr int64_t steps_at = 2 * Place::of_number, fifth_at = steps_at + 3 * Place::of_word,
                             low_at = fifth_at + (Bits == 5 ? 8 * Place::of_word : 0), block_values = 256,
                             block_bytes = low_at + 32 * Place::of_word;

    HWY_INLINE Of(Place block, int number)
        : block_(block), number_(number), low_at_(low_at + number / 2 * 8 * Place::of_word), low_by_(number % 2 * 4) {}
    HWY_INLINE Floats scale() const { return hn::Mul(block_.number(0), steps(0)); }
    HWY_INLINE Floats minimum() const { return hn::Neg(hn::Mul(block_.number(Place::of_number), steps(1))); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        const Bytes low = shifted_right(block_.word(low_at_, 4 * Half + i), low_by_, 0x0f);
        if constexpr (Bits == 4)
            return low;
        else
            return hn::Or(low, moved_up(shifted_right(block_.word(fifth_at, 4 * Half + i), number_, 1)));
    }

  private:
    // The six bits of the group's scale, or of its minimum: as FewBitsK::unpack() finds them.
    [[nodiscard]] HWY_INLINE Floats steps(int which) const {
        const UnsignedWords own = hn::BitCast(unsigned_words, block_.word(steps_at, which));
        if (number_ < 4) return bits_of(own, 8 * number_, 63);
        const UnsignedWords rest = hn::BitCast(unsigned_words, block_.word(steps_at, 2));
        const int from = 8 * (number_ - 4);
        return hn::MulAdd(bits_of(own, from + 6, 3), hn::Set(floats, 16), bits_of(rest, from + 4 * which, 15));
    }

    Place block_;
    int number_;
    int64_t low_at_;
    int low_by_;
};

template <> struct Of<Q6_K> {
    static constexpr int bits = 6, values = 16, offset = 32;
    static constexpr int64_t high_at = 32 * Place::of_word, steps_at = high_at + 16 * Place::of_word,
                             scale_at = steps_at + 4 * Place::of_word, block_values = 256,
                             block_bytes = scale_at + Place::of_number;

    // Each 128 values have four bits in 16 words, twice, and two bits in 8 words, four times.
    HWY_INLINE Of(Place block, int number)
        : block_(block), low_at_((number / 8 * 16 + number % 4 * 4) * Place::of_word),
          high_at_(high_at + (number / 8 * 8 + number % 2 * 4) * Place::of_word),
          steps_at_(steps_at + number / 4 * Place::of_word), low_by_(number % 8 / 4 * 4), high_by_(number % 8 / 2 * 2),
          steps_by_(24 - number % 4 * 8) {}
    HWY_INLINE Floats scale() const {
        const auto four_steps = hn::BitCast(words, block_.word(steps_at_, 0));
        const auto steps = hn::ShiftRight<24>(hn::ShiftLeftSame(four_steps, steps_by_)); // with sign
        return hn::Mul(block_.number(scale_at), hn::ConvertTo(floats, steps));
    }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        const Bytes low = shifted_right(block_.word(low_at_, 2 * Half + i), low_by_, 0x0f),
                    high = shifted_right(block_.word(high_at_, 2 * Half + i), high_by_, 3);
        return hn::Or(low, moved_up(high));
    }

  private:
    Place block_;
    int64_t low_at_, high_at_, steps_at_;
    int low_by_, high_by_, steps_by_;
};

// Each 128 values have two bits in 8 words, four times.
template <> struct Of<Q2_K> {
    static constexpr int bits = 2, values = 16, offset = 0;
    static constexpr int64_t low_at = 4 * Place::of_word, scale_at = low_at + 16 * Place::of_word, block_values = 256,
                             block_bytes = scale_at + 2 * Place::of_number;

    HWY_INLINE Of(Place block, int number)
        : block_(block), low_at_(low_at + (number / 8 * 8 + number % 2 * 4) * Place::of_word),
          steps_at_(number / 4 * Place::of_word), low_by_(number % 8 / 2 * 2), steps_by_(number % 4 * 8) {}
    HWY_INLINE Floats scale() const { return hn::Mul(block_.number(scale_at), steps(0)); }
    HWY_INLINE Floats minimum() const { return hn::Neg(hn::Mul(block_.number(scale_at + Place::of_number), steps(4))); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        return shifted_right(block_.word(low_at_, 2 * Half + i), low_by_, 3);
    }

  private:
    [[nodiscard]] HWY_INLINE Floats steps(int half) const {
        return bits_of(hn::BitCast(unsigned_words, block_.word(steps_at_, 0)), steps_by_ + half, 15);
    }

    Place block_;
    int64_t low_at_, steps_at_;
    int low_by_, steps_by_;
};

// The third bits are in 8 words, eight times.
template <> struct Of<Q3_K> {
    static constexpr int bits = 3, values = 16, offset = 4;
    static constexpr int64_t low_at = 8 * Place::of_word, steps_at = low_at + 16 * Place::of_word,
                             scale_at = steps_at + 3 * Place::of_word, block_values = 256,
                             block_bytes = scale_at + Place::of_number;

    HWY_INLINE Of(Place block, int number)
        : block_(block), number_(number), third_at_(number % 2 * 4 * Place::of_word),
          low_at_(low_at + number / 8 * 8 * Place::of_word + third_at_), low_by_(number % 8 / 2 * 2) {}
    // As Q3_K::steps_of() finds it.
    HWY_INLINE Floats scale() const {
        const auto lower = hn::BitCast(unsigned_words, block_.word(steps_at, number_ % 8 / 4)),
                   upper = hn::BitCast(unsigned_words, block_.word(steps_at, 2));
        const int from = number_ % 4 * 8;
        const Floats steps = hn::MulAdd(bits_of(upper, from + number_ / 4 * 2, 3), hn::Set(floats, 16),
                                        bits_of(lower, from + number_ / 8 * 4, 15));
        return hn::Mul(block_.number(scale_at), hn::Sub(steps, hn::Set(floats, 32)));
    }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        const Bytes low = shifted_right(block_.word(low_at_, 2 * Half + i), low_by_, 3),
                    third = shifted_right(block_.word(third_at_, 2 * Half + i), number_ / 2, 1);
        return hn::Or(low, hn::BitCast(bytes, hn::ShiftLeft<2>(hn::BitCast(halves, third))));
    }

  private:
    Place block_;
    int number_;
    int64_t third_at_, low_at_;
    int low_by_;
};

// ---- Codebooks ----

// Numbers of IQ4_NL and IQ4_XS, and 128.
HWY_INLINE Bytes iq4_bytes(Bytes codes) {
    alignas(16) static constexpr uint8_t numbers[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                        129, 141, 153, 166, 181, 197, 217, 241};
    return hn::TableLookupBytes(hn::LoadDup128(bytes, numbers), codes);
}

template <> struct Of<IQ4_NL> {
    static constexpr int bits = 8, values = 32, offset = 128;
    static constexpr int64_t low_at = Place::of_number, block_values = 32, block_bytes = low_at + 4 * Place::of_word;

    HWY_INLINE Of(Place block, int /*number*/) : block_(block) {}
    HWY_INLINE Floats scale() const { return block_.number(0); }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        return iq4_bytes(shifted_right(block_.word(low_at, i), 4 * Half, 0x0f));
    }

  private:
    Place block_;
};

template <> struct Of<IQ4_XS> {
    static constexpr int bits = 8, values = 32, offset = 128;
    static constexpr int64_t lower_at = 2 * Place::of_number, low_at = lower_at + Place::of_word, block_values = 256,
                             block_bytes = low_at + 32 * Place::of_word;

    HWY_INLINE Of(Place block, int number)
        : block_(block), number_(number), low_at_(low_at + number * 4 * Place::of_word) {}
    HWY_INLINE Floats scale() const {
        const UnsignedWords lower = hn::BitCast(unsigned_words, block_.word(lower_at, 0)),
                            upper = block_.bits(Place::of_number);
        const Floats steps =
            hn::MulAdd(bits_of(upper, 2 * number_, 3), hn::Set(floats, 16), bits_of(lower, 4 * number_, 15));
        return hn::Mul(block_.number(0), hn::Sub(steps, hn::Set(floats, 32)));
    }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        return iq4_bytes(shifted_right(block_.word(low_at_, i), 4 * Half, 0x0f));
    }

  private:
    Place block_;
    int number_;
    int64_t low_at_;
};

template <> struct Of<I8_K> {
    static constexpr int bits = 8, values = 16, offset = 128;
    static constexpr int64_t steps_at = Place::of_word, low_at = steps_at + 4 * Place::of_word, block_values = 256,
                             block_bytes = low_at + 64 * Place::of_word;

    HWY_INLINE Of(Place block, int number)
        : block_(block), steps_at_(steps_at + number / 4 * Place::of_word),
          low_at_(low_at + number * 4 * Place::of_word), steps_by_(24 - number % 4 * 8) {}
    HWY_INLINE Floats scale() const {
        const auto four_steps = hn::BitCast(words, block_.word(steps_at_, 0));
        const auto steps = hn::ShiftRight<24>(hn::ShiftLeftSame(four_steps, steps_by_)); // with sign
        return hn::Mul(hn::BitCast(floats, block_.word(0, 0)), hn::ConvertTo(floats, steps));
    }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        return hn::Xor(block_.word(low_at_, 2 * Half + i), hn::Set(bytes, uint8_t{128}));
    }

  private:
    Place block_;
    int64_t steps_at_, low_at_;
    int steps_by_;
};

// The rows of a matrix have one codebook as a rule: they come from one tensor.
template <> struct Of<I4_K> {
    static constexpr int bits = 8, values = 16, offset = 128;
    static constexpr int64_t book_at = Place::of_number, steps_at = 2 * Place::of_number,
                             low_at = steps_at + 2 * Place::of_word, block_values = 256,
                             block_bytes = low_at + 32 * Place::of_word;

    HWY_INLINE Of(Place block, int number)
        : block_(block), books_(block.bits(book_at)), steps_at_(steps_at + number / 8 * Place::of_word),
          low_at_(low_at + number / 2 * 4 * Place::of_word), steps_by_(number % 8 * 4), low_by_(number % 2 * 4),
          first_(hn::GetLane(books_)),
          one_book_(hn::AllTrue(unsigned_words, hn::Eq(books_, hn::Set(unsigned_words, first_)))) {}
    HWY_INLINE Floats scale() const {
        const Floats half = bits_of(hn::BitCast(unsigned_words, block_.word(steps_at_, 0)), steps_by_, 15);
        const Floats steps = hn::MulAdd(half, hn::Set(floats, 2), hn::Set(floats, 1));
        return hn::Mul(hn::Mul(block_.number(0), hn::Set(floats, 0.125F)), steps);
    }
    HWY_INLINE Floats minimum() const { return hn::Mul(scale(), hn::Set(floats, -offset)); }
    template <int Half> HWY_INLINE Bytes four(int i) const {
        const Bytes codes = shifted_right(block_.word(low_at_, 2 * Half + i), low_by_, 0x0f);
        if (one_book_) return numbers(first_, codes);
        const auto from = [&](uint32_t book, Bytes others) {
            const auto of_book = hn::RebindMask(words, hn::Eq(books_, hn::Set(unsigned_words, book)));
            return hn::BitCast(
                bytes, hn::IfThenElse(of_book, hn::BitCast(words, numbers(book, codes)), hn::BitCast(words, others)));
        };
        return from(0, from(1, numbers(2, codes)));
    }

  private:
    // And 128.
    [[nodiscard]] static HWY_INLINE Bytes numbers(uint32_t book, Bytes codes) {
        alignas(16) static constexpr auto all = [] {
            std::array<std::array<uint8_t, 16>, I4_K::books.size()> out{};
            for (size_t b = 0; b < out.size(); ++b)
                for (size_t i = 0; i < 8; ++i) {
                    out[b][i] = static_cast<uint8_t>(128 + I4_K::books[b][i]);
                    out[b][8 + i] = static_cast<uint8_t>(128 - I4_K::books[b][i]);
                }
            return out;
        }();
        return hn::TableLookupBytes(hn::LoadDup128(bytes, all[std::min<size_t>(book, all.size() - 1)].data()), codes);
    }

    Place block_;
    UnsignedWords books_;
    int64_t steps_at_, low_at_;
    int steps_by_, low_by_;
    uint32_t first_;
    bool one_book_;
};

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
