#include "conformance/values.hpp"

#include "base/random.hpp"
#include "base/storage.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lamina::conformance {
namespace {

constexpr double largest_f16 = 65504;
constexpr int64_t most_drawn = 1 << 20;

double draw(Values values, Random &random) {
    switch (values) {
    case Values::offset:
        return 1e4 + random.normal();
    case Values::large:
        return 80 * (2 * random.unit() - 1);
    case Values::huge:
        return largest_f16 * (2 * random.unit() - 1);
    case Values::overflow:
        return 128 * (2 * random.unit() - 1);
    case Values::tiny:
        return 1e-12 * random.normal();
    case Values::small:
        return 1e-3 * random.normal();
    case Values::positive:
        return random.unit();
    case Values::spread: {
        const double magnitude = std::ldexp(0.5 + random.unit() / 2, -static_cast<int>(random.below(30)));
        return random.below(2) == 0 ? magnitude : -magnitude;
    }
    case Values::zeros:
        return 0;
    default:
        return random.normal();
    }
}

std::vector<float> draw_floats(const Shape &shape, Values values, double scale, Random &random) {
    std::vector<float> out(static_cast<size_t>(element_count(shape)));
    if (values == Values::one_hot) {
        const auto columns = static_cast<size_t>(shape.back());
        for (size_t row = 0; row < out.size(); row += columns) out[row + random.below(columns)] = 1;
    } else if (values == Values::equal) {
        std::ranges::fill(out, static_cast<float>(scale * (0.5 + random.unit())));
    } else if (values == Values::infinite) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const auto columns = static_cast<size_t>(shape.back());
        for (size_t i = 0; i < out.size(); ++i) {
            const bool none = i / columns % 3 == 1 || random.below(4) == 0;
            out[i] = none ? -infinity : static_cast<float>(scale * random.normal());
        }
        for (size_t row = 2 * columns; row < out.size(); row += 3 * columns)
            out[row + random.below(columns)] = infinity;
    } else {
        for (float &v : out) v = static_cast<float>(scale * draw(values, random));
    }
    return out;
}

// In a wide range, random values are rarely interesting. So only some are drawn from the whole range; the others are
// likely positions: within a cache of `rows`, or in a short sequence.
int64_t draw_uniform(uint64_t width, uint64_t rows, Random &random) {
    const std::array<uint64_t, 4> limits{width, rows != 0 ? rows : 256, rows != 0 ? rows : 64, 8};
    const uint64_t luck = random.below(limits.size());
    return static_cast<int64_t>(random.below(width <= wide_range ? width : limits[luck]));
}

// 0, n-1, 1, n-2, ...: every number below n, over and over.
int64_t from_both_ends(int64_t number, int64_t n) {
    number %= n;
    return number % 2 == 0 ? number / 2 : n - 1 - number / 2;
}

Tensor draw_integers(const Shape &shape, Values values, const Range &range, Random &random) {
    const auto [lowest, end, cache] = range;
    if (end <= lowest)
        throw Error(ErrorCode::input, "the range of allowed values is empty: " + std::to_string(lowest) +
                                          " <= value < " + std::to_string(end));
    Tensor out(TensorType{DType::i32, shape});
    int64_t number = 0; // of the element
    for (int32_t &v : out.i32()) {
        const int64_t above = values == Values::zeros   ? 0
                              : values == Values::every ? from_both_ends(number++, end - lowest)
                              : values == Values::one   ? std::min<int64_t>(1, end - lowest - 1)
                              : values == Values::max   ? end - lowest - 1
                                                        : draw_uniform(static_cast<uint64_t>(end - lowest),
                                                                       static_cast<uint64_t>(cache), random);
        v = static_cast<int32_t>(lowest + above);
    }
    return out;
}

bool is_prime(int64_t n) {
    for (int64_t d = 2; d * d <= n; ++d)
        if (n % d == 0) return false;
    return true;
}

// A prime, so that rows a power of two apart still differ.
int64_t rows_to_draw(int64_t columns) {
    int64_t rows = std::max<int64_t>(1, most_drawn / columns);
    while (!is_prime(rows)) --rows;
    return rows;
}

Tensor repeated(const Tensor &rows, const TensorType &type) {
    Tensor out(type);
    for (std::span<std::byte> left = out.bytes(); !left.empty();) {
        const size_t n = std::min(left.size(), rows.bytes().size());
        std::ranges::copy(rows.bytes().first(n), left.begin());
        left = left.subspan(n);
    }
    return out;
}

} // namespace

Tensor make_values(const TensorType &type, Values values, bool weight, const Range &range, uint64_t seed,
                   std::string_view port) {
    // Random numbers for hundreds of millions of values would take longer than all else.
    if (type.shape.size() > 1 && element_count(type.shape) > most_drawn)
        if (const Shape few{rows_to_draw(type.shape.back()), type.shape.back()}; few[0] > 1)
            return repeated(make_values({type.dtype, few}, values, weight, range, seed, port), type);
    Random random(seed, port);
    if (type.dtype == DType::i32) return draw_integers(type.shape, values, range, random);
    const bool matrix = weight && type.shape.size() > 1;
    const double scale = matrix ? 1 / std::sqrt(static_cast<double>(type.shape.back())) : 1;
    const Tensor wide = Tensor::of(type.shape, std::span<const float>(draw_floats(type.shape, values, scale, random)));
    return narrowed(wide, type.dtype);
}

} // namespace lamina::conformance
