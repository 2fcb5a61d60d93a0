#include "conformance/values.hpp"

#include "base/random.hpp"
#include "base/storage.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::conformance {
namespace {

constexpr double largest_f16 = 65504;

double draw(Values values, Random &random) {
    switch (values) {
    case Values::offset:
        return 1e4 + random.normal();
    case Values::large:
        return 80 * (2 * random.unit() - 1);
    case Values::huge:
        return largest_f16 * (2 * random.unit() - 1);
    case Values::tiny:
        return 1e-12 * random.normal();
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

Tensor draw_integers(const Shape &shape, Values values, const Range &range, Random &random) {
    const auto [lowest, end, cache] = range;
    if (end <= lowest)
        throw Error(ErrorCode::input, "the range of allowed values is empty: " + std::to_string(lowest) +
                                          " <= value < " + std::to_string(end));
    Tensor out(TensorType{DType::i32, shape});
    for (int32_t &v : out.i32()) {
        const int64_t above = values == Values::zeros ? 0
                              : values == Values::one ? std::min<int64_t>(1, end - lowest - 1)
                              : values == Values::max ? end - lowest - 1
                                                      : draw_uniform(static_cast<uint64_t>(end - lowest),
                                                                     static_cast<uint64_t>(cache), random);
        v = static_cast<int32_t>(lowest + above);
    }
    return out;
}

} // namespace

Tensor make_values(const TensorType &type, Values values, bool weight, const Range &range, uint64_t seed,
                   std::string_view port) {
    Random random(seed, port);
    if (type.dtype == DType::i32) return draw_integers(type.shape, values, range, random);
    const bool matrix = weight && type.shape.size() > 1;
    const double scale = matrix ? 1 / std::sqrt(static_cast<double>(type.shape.back())) : 1;
    const Tensor wide = Tensor::of(type.shape, std::span<const float>(draw_floats(type.shape, values, scale, random)));
    return narrowed(wide, type.dtype);
}

} // namespace lamina::conformance
