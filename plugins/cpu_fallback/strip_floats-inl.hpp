// Strips as floats: widened, or multiplied with a few rows of x on the way. Included once for each instruction set, by
// way of foreach_target.h.
#if defined(LAMINA_STRIP_FLOATS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_STRIP_FLOATS_INL_HPP
#undef LAMINA_STRIP_FLOATS_INL_HPP
#else
#define LAMINA_STRIP_FLOATS_INL_HPP
#endif

#include "strip_formats-inl.hpp"
#include "strips.hpp"

#include <hwy/cache_control.h>

#include <array>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

// How far ahead of the multiplications memory is read. On their own, processors do not read ahead beyond a page.
constexpr int64_t ahead = 4096;

// Asks memory for what is needed after a group of a strip. Not for all of a block at once: processors wait for no more
// than a few lines.
HWY_INLINE void ask_for(const std::byte *next, int64_t count) {
    for (int64_t line = 0; line < count; line += 64) hwy::Prefetch(next + line);
}

template <class Group, size_t... V>
HWY_INLINE std::array<Group, sizeof...(V)> groups_at(const std::byte *strip, int64_t lane, int number,
                                                     std::index_sequence<V...> /*all*/) {
    return {Group(Place(strip, lane + static_cast<int64_t>(V) * lanes), number)...};
}

// The values of a group, exactly: its scale and minimum, once known, and byte `At` of four integers.
template <class Group> struct Values {
    Floats scale, minimum;

    HWY_INLINE explicit Values(const Group &group) : scale(group.scale()), minimum(group.minimum()) {}
    template <int At> HWY_INLINE Floats of(Bytes four) const {
        const auto shifted = hn::ShiftRight<8 * At>(hn::BitCast(unsigned_words, four));
        const auto bits = At == 3 ? shifted : hn::And(shifted, hn::Set(unsigned_words, 255));
        const Floats integer = hn::ConvertTo(floats, hn::BitCast(words, bits));
#if !HWY_NATIVE_FMA
        if constexpr (Group::offset != 0) return hn::Mul(hn::Sub(integer, hn::Set(floats, Group::offset)), scale);
#endif
        return hn::MulAdd(integer, scale, minimum);
    }
};

// Calls f(i, four) for all values of a group, four of which begin at the i-th.
template <class Group, class F> HWY_INLINE void for_fours(F &&f) {
    const auto of_half = [&](auto half) HWY_ATTR {
        HWY_UNROLL(1)
        for (int i = 0; i < Group::values / 8; ++i) f(half, i);
    };
    of_half(std::integral_constant<int, 0>()), of_half(std::integral_constant<int, 1>());
}

// ---- Products ----

// Rows of x that are multiplied together, and vectors of rows of the weight: there are registers for their sums.
constexpr int floats_together = 8;

#if HWY_NATIVE_FMA
template <int Rows> constexpr int float_vectors = std::min<int64_t>(strip_rows / lanes, Rows > 4 && lanes > 4 ? 1 : 2);

// Some vectors of rows, from `lane` on, times some rows of x.
template <class Format, int Vectors, int Rows> class FloatTile {
    using Group = Of<Format>;
    static constexpr int groups = Group::block_values / Group::values;
    static constexpr int64_t group_bytes = Group::block_bytes / groups;
    using Sums = Floats[Vectors][Rows];

  public:
    HWY_INLINE explicit FloatTile(int64_t lane) : lane_(lane) { clear(total_); }

    HWY_INLINE void multiply(const std::byte *strip, int64_t values, const float *x) {
        // Sums of 64 products are rounded together: errors grow with the length of a sum.
        constexpr int groups_summed = 64 / Group::values;
        for (int64_t group = 0, all = values / Group::values; group < all;) {
            Sums sums;
            clear(sums);
            const int64_t end = std::min<int64_t>(group + groups_summed, all);
            for (; group < end; ++group, x += Group::values * Rows)
                add_group(strip + group / groups * Group::block_bytes, static_cast<int>(group % groups), x, sums);
            for (int v = 0; v < Vectors; ++v)
                for (int r = 0; r < Rows; ++r) total_[v][r] = hn::Add(total_[v][r], sums[v][r]);
        }
    }

    // sums[r * strip_rows + lane]
    HWY_INLINE void store(float *sums) const {
        for (int v = 0; v < Vectors; ++v)
            for (int r = 0; r < Rows; ++r) hn::StoreU(total_[v][r], floats, sums + r * strip_rows + lane_ + v * lanes);
    }

  private:
    HWY_INLINE static void clear(Sums &sums) {
        for (auto &of_vector : sums)
            for (Floats &of_row : of_vector) of_row = hn::Zero(floats);
    }

    HWY_INLINE void add_group(const std::byte *strip, int number, const float *x, Sums &sums) const {
        ask_for(strip + ahead + number * group_bytes, group_bytes);
        const auto group = groups_at<Group>(strip, lane_, number, std::make_index_sequence<Vectors>());
        add(group, values_of(group, std::make_index_sequence<Vectors>()), x, sums);
    }
    template <size_t... V>
    HWY_INLINE static std::array<Values<Group>, Vectors> values_of(const std::array<Group, Vectors> &group,
                                                                   std::index_sequence<V...> /*all*/) {
        return {Values<Group>(group[V])...};
    }

    HWY_INLINE static void add(const std::array<Group, Vectors> &group,
                               const std::array<Values<Group>, Vectors> &values, const float *x, Sums &sums) {
        for_fours<Group>([&](auto half, int i) HWY_ATTR {
            Bytes fours[Vectors];
            for (int v = 0; v < Vectors; ++v) fours[v] = group[v].template four<half>(i);
            const auto add_one = [&](auto at) HWY_ATTR {
                Floats weights[Vectors];
                for (int v = 0; v < Vectors; ++v) weights[v] = values[v].template of<at>(fours[v]);
                for (int r = 0; r < Rows; ++r) {
                    const Floats factor = hn::Set(floats, x[r]);
                    for (int v = 0; v < Vectors; ++v) sums[v][r] = hn::MulAdd(weights[v], factor, sums[v][r]);
                }
                x += Rows;
            };
            add_one(std::integral_constant<int, 0>()), add_one(std::integral_constant<int, 1>());
            add_one(std::integral_constant<int, 2>()), add_one(std::integral_constant<int, 3>());
        });
    }

    const int64_t lane_;
    Sums total_;
};

template <class Format, int Rows>
HWY_ATTR void multiply_float_rows(const StripProduct &p, int64_t first, float *y, int64_t step) {
    constexpr int vectors = float_vectors<Rows>;
    alignas(64) float sums[Rows * strip_rows];
    for (int64_t lane = 0; lane < strip_rows; lane += vectors * lanes) {
        FloatTile<Format, vectors, Rows> tile(lane);
        tile.multiply(p.strip, p.values, reinterpret_cast<const float *>(p.x) + first * p.values);
        tile.store(sums);
    }
    for (int64_t r = 0; r < Rows; ++r)
        for (int64_t n = 0; n < p.count; ++n) y[(first + r) * step + n] += sums[r * strip_rows + n];
}

template <class Format> HWY_ATTR void add_float_products(const StripProduct &p, float *y, int64_t step) {
    for (int64_t r = 0; r < p.rows;) {
        const int64_t rows = rows_together(p.rows - r, floats_together);
        if (rows == floats_together)
            multiply_float_rows<Format, floats_together>(p, r, y, step);
        else if (rows == some_together)
            multiply_float_rows<Format, some_together>(p, r, y, step);
        else
            multiply_float_rows<Format, 1>(p, r, y, step);
        r += rows;
    }
}
#endif

// ---- Widening ----

template <class Format>
HWY_ATTR void widen_strip(const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step) {
    using Group = Of<Format>;
    strip += first / Group::block_values * Group::block_bytes;
    for (const float *const end = out + values * step; out != end; strip += Group::block_bytes)
        for (int number = 0; number < Group::block_values / Group::values; ++number, out += Group::values * step)
            for (int64_t lane = 0; lane < strip_rows; lane += lanes) {
                const Group group(Place(strip, lane), number);
                const Values<Group> values_of(group);
                float *to = out + lane;
                for_fours<Group>([&](auto half, int i) HWY_ATTR {
                    const Bytes four = group.template four<half>(i);
                    const auto put = [&](auto at) HWY_ATTR {
                        hn::StoreU(values_of.template of<at>(four), floats, to);
                        to += step;
                    };
                    put(std::integral_constant<int, 0>()), put(std::integral_constant<int, 1>());
                    put(std::integral_constant<int, 2>()), put(std::integral_constant<int, 3>());
                });
            }
}

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
