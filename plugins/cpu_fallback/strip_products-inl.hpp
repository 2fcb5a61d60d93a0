// Products of strips with rows of x as digits. Included once for each instruction set, by way of
// foreach_target.h.
#if defined(LAMINA_STRIP_PRODUCTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_STRIP_PRODUCTS_INL_HPP
#undef LAMINA_STRIP_PRODUCTS_INL_HPP
#else
#define LAMINA_STRIP_PRODUCTS_INL_HPP
#endif

#include "strip_floats-inl.hpp"
#include "strip_formats-inl.hpp"
#include "strips.hpp"

#include <lamina/plugin/call.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<int16_t, decltype(floats)> shorts;
using Shorts = hn::Vec<decltype(shorts)>;

// Rows of x that are multiplied together: registers have room for their sums, which are more where only sixteen values
// share a scale.
template <class Format, int Count> constexpr int together_with_avx512() {
    if (Count == 3) return 4;
    if (Of<Format>::values == 16) return Count == 1 ? 8 : 6;
    return Count == 1 ? 12 : 8;
}
template <class Format, int Count> constexpr int together = lanes == 16 ? together_with_avx512<Format, Count>() : 2;
// Vectors of rows of the weight that a single row of x is multiplied with.
constexpr int row_vectors = strip_rows / lanes < 2 ? strip_rows / lanes : 2;

// ---- Products ----

// The sums of two products of bytes, the former without sign and below 64, the latter with it.
HWY_INLINE Shorts sums_of_two(Bytes a, Bytes b) {
#if HWY_TARGET == HWY_AVX3
    return Shorts{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
    return Shorts{_mm256_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4
    return Shorts{_mm_maddubs_epi16(a.raw, b.raw)};
#else
    const auto of_a = hn::BitCast(shorts, a), of_b = hn::BitCast(shorts, b);
    const auto even = hn::Mul(hn::And(of_a, hn::Set(shorts, 0xff)), hn::ShiftRight<8>(hn::ShiftLeft<8>(of_b)));
    return hn::Add(even, hn::Mul(hn::ShiftRight<8>(of_a), hn::ShiftRight<8>(of_b)));
#endif
}
// The sums of two neighbours, times a factor.
HWY_INLINE Integers sums_of_two(Shorts v, int16_t factor) {
#if HWY_TARGET <= HWY_SSE4 // where what is multiplied are neighbours; elsewhere they need not be
    Integers rest = hn::Zero(words);
    const Integers sums = hn::ReorderWidenMulAccumulate(words, v, hn::Set(shorts, factor), hn::Zero(words), rest);
    return hn::Add(sums, rest);
#else
    const auto both = hn::BitCast(words, v);
    const auto sums = hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(both)), hn::ShiftRight<16>(both));
    return hn::Mul(sums, hn::Set(words, factor));
#endif
}

// Four digits in every lane.
HWY_INLINE Bytes everywhere(const int8_t *digits) {
    int32_t four = 0;
    std::memcpy(&four, digits, sizeof four);
    return hn::BitCast(bytes, hn::Set(words, four));
}

// The sums of a vector of rows for each digit of x, while they fit into 16 bits.
template <int Bits, int Count> struct ShortSums {
    static constexpr int fours = 1 << (7 - Bits); // that it has room for
    static constexpr bool begins = false;         // with what GroupSums otherwise begin with
    static_assert(fours * 2 * 128 * ((1 << Bits) - 1) < 32768);
    Shorts sums[Count];

    HWY_INLINE ShortSums() {
        for (Shorts &sum : sums) sum = hn::Zero(shorts);
    }
    HWY_INLINE void add(Bytes weights, const int8_t *digits) {
        for (int d = 0; d < Count; ++d) sums[d] = hn::Add(sums[d], sums_of_two(weights, everywhere(digits + d * 32)));
    }
    // Those of all digits but the third, and of the third.
    [[nodiscard]] HWY_INLINE Integers upper() const {
        if constexpr (Count == 1)
            return sums_of_two(sums[0], 1);
        else
            return hn::Add(sums_of_two(sums[0], 256), sums_of_two(sums[1], 1));
    }
    [[nodiscard]] HWY_INLINE Integers lower() const { return sums_of_two(sums[2], 1); }
};

#if HWY_TARGET == HWY_AVX3
// The same by an instruction that adds the products of four bytes to a lane. Highway's name for processors that have it
// is AVX3_DL, for which its version 1.0 does not compile it.
template <int /*Bits*/, int Count> struct WordSums {
    static constexpr int fours = 8; // all of a group
    static constexpr bool begins = true;
    Integers sums[Count];

    HWY_INLINE WordSums() {
        for (Integers &sum : sums) sum = hn::Zero(words);
    }
    HWY_INLINE void begin(const Begin &with) {
        sums[Count == 1 ? 0 : 1] = hn::Set(words, with.upper);
        if constexpr (Count == 3) sums[2] = hn::Set(words, with.lower);
    }
    HWY_INLINE void add(Bytes weights, const int8_t *digits) {
        for (int d = 0; d < Count; ++d) sums[d] = with_four(sums[d], weights, digits + d * 32);
    }
    [[nodiscard]] HWY_INLINE Integers upper() const {
        if constexpr (Count == 1)
            return sums[0];
        else
            return hn::Add(hn::ShiftLeft<8>(sums[0]), sums[1]);
    }
    [[nodiscard]] HWY_INLINE Integers lower() const { return sums[2]; }

  private:
    HWY_INLINE static Integers with_four(Integers sum, Bytes weights, const int8_t *digits) {
        const auto &four = *reinterpret_cast<const int8_t(*)[4]>(digits);
        auto raw = sum.raw;
        asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(raw) : "v"(weights.raw), "m"(four)); // NOLINT(hicpp-no-assembler)
        return Integers{raw};
    }
};
#endif

// Of weights of eight bits, the upper and the lower four.
template <int Count> struct ShortSums<8, Count> {
    static constexpr int fours = ShortSums<4, Count>::fours;
    static constexpr bool begins = false;
    ShortSums<4, Count> of_upper, of_lower;

    // Not "= default", which GCC would compile for another instruction set.
    HWY_INLINE ShortSums() {} // NOLINT(modernize-use-equals-default)
    HWY_INLINE void add(Bytes weights, const int8_t *digits) {
        of_upper.add(shifted_right(weights, 4, 15), digits);
        of_lower.add(hn::And(weights, hn::Set(bytes, uint8_t{15})), digits);
    }
    [[nodiscard]] HWY_INLINE Integers upper() const {
        return hn::Add(hn::ShiftLeft<4>(of_upper.upper()), of_lower.upper());
    }
    [[nodiscard]] HWY_INLINE Integers lower() const {
        return hn::Add(hn::ShiftLeft<4>(of_upper.lower()), of_lower.lower());
    }
};

// The sum of the integers of half of 32 values of x, which begins sums if the offset is sums_of_halves.
template <int Count> HWY_INLINE Floats sum_of(const Begin &half) {
    return hn::Set(floats, static_cast<float>(Count < 3 ? half.upper : half.upper * 256 + half.lower));
}

// The sums of a group.
template <int Count> struct GroupSums {
    Integers upper, lower;

    HWY_INLINE GroupSums() : upper(hn::Zero(words)), lower(upper) {}
    HWY_INLINE void begin(const Begin &with) {
        upper = hn::Set(words, with.upper);
        if constexpr (Count == 3) lower = hn::Set(words, with.lower);
    }
    template <class FewSums> HWY_INLINE void add(const FewSums &sums) {
        upper = hn::Add(upper, sums.upper());
        if constexpr (Count == 3) lower = hn::Add(lower, sums.lower());
    }
    [[nodiscard]] HWY_INLINE Floats all() const {
        if constexpr (Count == 3)
            return hn::MulAdd(hn::ConvertTo(floats, upper), hn::Set(floats, 256), hn::ConvertTo(floats, lower));
        else
            return hn::ConvertTo(floats, upper);
    }
};

// Some vectors of rows, from `lane` on, times some rows of x.
template <class Format, template <int, int> class FewSums, int Count, int Vectors, int Rows> class Tile {
    using Group = Of<Format>;
    using Few = FewSums<Group::bits, Count>;
    static constexpr int groups = Group::block_values / Group::values, fours = Group::values / 4;
    static constexpr int few = fours < Few::fours ? fours : Few::fours; // fours that are added up at a time
    static constexpr int64_t group_bytes = Group::block_bytes / groups;
    static_assert(fours % few == 0 && (few == fours || !Few::begins));

  public:
    HWY_INLINE explicit Tile(int64_t lane) : lane_(lane) {
        for (auto &of_vector : total_)
            for (Floats &of_row : of_vector) of_row = hn::Zero(floats);
    }

    HWY_INLINE void multiply(const std::byte *strip, int64_t values, const Digits<Count> *x) {
        for (const std::byte *const end = strip + values / Group::block_values * Group::block_bytes; strip != end;
             strip += Group::block_bytes)
            for (int group = 0; group < groups; group += 32 / Group::values, x += Rows) {
                Floats products[Vectors][Rows]; // of 32 values of x, which share a factor
                add_group<0>(strip, group, x, products);
                if constexpr (Group::values == 16) add_group<1>(strip, group + 1, x, products);
                for (int v = 0; v < Vectors; ++v)
                    for (int r = 0; r < Rows; ++r)
                        total_[v][r] = hn::MulAdd(products[v][r], hn::Set(floats, x[r].factor), total_[v][r]);
            }
    }

    // sums[r * strip_rows + lane]
    HWY_INLINE void store(float *sums) const {
        for (int v = 0; v < Vectors; ++v)
            for (int r = 0; r < Rows; ++r) hn::StoreU(total_[v][r], floats, sums + r * strip_rows + lane_ + v * lanes);
    }

  private:
    // `Part`: which part of the 32 values of x the group multiplies.
    template <int Part>
    HWY_INLINE void add_group(const std::byte *strip, int number, const Digits<Count> *x,
                              Floats (&products)[Vectors][Rows]) {
        ask_for(strip + ahead + number * group_bytes, group_bytes);
        const auto group = groups_at<Group>(strip, lane_, number, std::make_index_sequence<Vectors>());
        GroupSums<Count> sums[Vectors][Rows];
        if constexpr (Group::offset != 0 && !Few::begins)
            for (auto &of_vector : sums)
                for (int r = 0; r < Rows; ++r) of_vector[r].begin(x[r].begin[Part]);
        for (int first = 0; first < fours / 2; first += few / 2) {
            Few of_few[Vectors][Rows];
            if constexpr (Group::offset != 0 && Few::begins)
                for (auto &of_vector : of_few)
                    for (int r = 0; r < Rows; ++r) of_vector[r].begin(x[r].begin[Part]);
            const auto add = [&](auto half, int i) HWY_ATTR {
                const int8_t *at = x->digit[0] + Part * Group::values + half * (Group::values / 2) + 4 * i;
                for (int v = 0; v < Vectors; ++v) {
                    const Bytes weights = group[v].template four<half>(i);
                    for (int r = 0; r < Rows; ++r)
                        of_few[v][r].add(weights, at + r * static_cast<int64_t>(sizeof(Digits<Count>)));
                }
            };
            HWY_UNROLL(1) // or compilers run out of registers
            for (int i = first; i < first + few / 2; ++i)
                add(std::integral_constant<int, 0>(), i), add(std::integral_constant<int, 1>(), i);
            for (int v = 0; v < Vectors; ++v)
                for (int r = 0; r < Rows; ++r) sums[v][r].add(of_few[v][r]);
        }
        for (int v = 0; v < Vectors; ++v) {
            const Floats scale = group[v].scale(), minimum = group[v].minimum();
            for (int r = 0; r < Rows; ++r) {
                Floats &product = products[v][r];
                product = Part == 0 ? hn::Mul(scale, sums[v][r].all()) : hn::MulAdd(scale, sums[v][r].all(), product);
                if constexpr (Group::offset == 0 && Group::values == 16)
                    product = hn::MulAdd(minimum, sum_of<Count>(x[r].begin[Part]), product);
                else if constexpr (Group::offset == 0)
                    total_[v][r] = hn::MulAdd(minimum, hn::Set(floats, x[r].sum), total_[v][r]);
            }
        }
    }

    const int64_t lane_;
    Floats total_[Vectors][Rows];
};

template <class Format, template <int, int> class FewSums, int Count, int Rows>
HWY_ATTR void multiply_rows(const StripProduct &p, int64_t first, float *y, int64_t step) {
    constexpr int vectors = Rows == 1 ? row_vectors : 1;
    alignas(64) float sums[Rows * strip_rows];
    const auto *const x = reinterpret_cast<const Digits<Count> *>(p.x) + first * (p.values / 32);
    for (int64_t lane = 0; lane < strip_rows; lane += vectors * lanes) {
        Tile<Format, FewSums, Count, vectors, Rows> tile(lane);
        tile.multiply(p.strip, p.values, x);
        tile.store(sums);
    }
    for (int64_t r = 0; r < Rows; ++r)
        for (int64_t n = 0; n < p.count; ++n) y[(first + r) * step + n] += sums[r * strip_rows + n];
}

template <class Format, template <int, int> class FewSums, int Count>
HWY_ATTR void add_products(const StripProduct &p, float *y, int64_t step) {
    constexpr int most = together<Format, Count>;
    for (int64_t r = 0; r < p.rows;) {
        const int64_t rows = rows_together(p.rows - r, most);
        if (rows == most)
            multiply_rows<Format, FewSums, Count, most>(p, r, y, step);
        else if (rows == some_together)
            multiply_rows<Format, FewSums, Count, std::min<int>(most, some_together)>(p, r, y, step);
        else
            multiply_rows<Format, FewSums, Count, 1>(p, r, y, step);
        r += rows;
    }
}

// Calls f.operator()<Count>() with the number of digits of x.
template <class F> HWY_INLINE void with_digits(int digits, F &&f) {
    if (digits == 1) return f.template operator()<1>();
    if (digits == 2) return f.template operator()<2>();
    f.template operator()<3>();
}

// ---- For any of some formats ----

template <uint32_t DType, class Format> struct Entry {
    static constexpr uint32_t dtype = DType;
    using Blocks = Format;
};
template <class... Entries> struct AnyOf {
    // Calls f.operator()<Format>() with the format of a dtype.
    template <class F> static HWY_ATTR void with(uint32_t dtype, F &&f) {
        const bool found =
            ((dtype == Entries::dtype && (f.template operator()<typename Entries::Blocks>(), true)) || ...);
        if (!found) throw Unsupported("no CPU kernel for weights of dtype " + std::to_string(dtype));
    }
};

template <class Formats> HWY_ATTR RowsForm form_for(uint32_t dtype, int digits) {
    if (digits == 0) return {0, floats_together};
    RowsForm out{digits};
    Formats::with(dtype, [&]<class Format>() HWY_ATTR {
        using Group = Of<Format>;
        with_digits(digits, [&]<int Count>() HWY_ATTR { out.together = together<Format, Count>; });
        out.halves = Group::values == 16;
        out.offset = Group::offset == 0 && out.halves ? sums_of_halves : Group::offset;
    });
    return out;
}

template <class Formats> HWY_ATTR void add_any_products(const StripProduct &product, float *y, int64_t step) {
    Formats::with(product.dtype, [&]<class Format>() HWY_ATTR {
#if HWY_NATIVE_FMA // elsewhere, floats are not asked for
        if (product.form.digits == 0) return add_float_products<Format>(product, y, step);
#endif
        with_digits(product.form.digits, [&]<int Count>() HWY_ATTR {
#if HWY_TARGET == HWY_AVX3
            if (product.dot_products) return add_products<Format, WordSums, Count>(product, y, step);
#endif
            add_products<Format, ShortSums, Count>(product, y, step);
        });
    });
}

template <class Formats>
HWY_ATTR void widen_any_strip(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out,
                              int64_t step) {
    Formats::with(dtype, [&]<class Format>() HWY_ATTR { widen_strip<Format>(strip, first, values, out, step); });
}

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
