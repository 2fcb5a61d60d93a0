#include "session/inputs.hpp"

#include "session/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lamina::session {
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

// Of a range too wide to meet its interesting values by chance, half are below 8 and a quarter below 64.
int64_t draw_uniform(uint64_t width, Random &random) {
    const uint64_t luck = random.below(4);
    const uint64_t limit = width <= 4096 || luck == 0 ? width : luck == 1 ? 64 : 8;
    return static_cast<int64_t>(random.below(limit));
}

Tensor draw_integers(const Shape &shape, Values values, std::pair<int64_t, int64_t> range, Random &random) {
    const auto [lowest, end] = range;
    if (end <= lowest)
        throw Error(ErrorCode::input,
                    "no value is allowed: expected " + std::to_string(lowest) + " <= value < " + std::to_string(end));
    Tensor out(TensorType{DType::i32, shape});
    for (int32_t &v : out.i32()) {
        const int64_t above = values == Values::zeros ? 0
                              : values == Values::one ? std::min<int64_t>(1, end - lowest - 1)
                              : values == Values::max ? end - lowest - 1
                                                      : draw_uniform(static_cast<uint64_t>(end - lowest), random);
        v = static_cast<int32_t>(lowest + above);
    }
    return out;
}

// Rounds away the lowest `bits` bits, to the nearest, ties to even.
uint32_t round_off(uint32_t value, uint32_t bits) {
    const uint32_t half = 1u << (bits - 1u), odd = (value >> bits) & 1u;
    return (value + half - 1u + odd) >> bits;
}

Tensor narrowed(const Tensor &wide, DType dtype) {
    Tensor out(TensorType{dtype, wide.shape()});
    std::byte *to = out.bytes().data();
    for (const float v : wide.f32()) {
        const uint16_t bits = dtype == DType::f16 ? narrow_f16(v) : narrow_bf16(v);
        std::memcpy(to, &bits, sizeof bits);
        to += sizeof bits;
    }
    return out;
}

} // namespace

uint16_t narrow_f16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint32_t>((bits >> 16u) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);  // NaN
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u); // rounds beyond 65504
    if (magnitude >= 0x38800000u) // normal: the exponent's bias falls from 127 to 15
        return static_cast<uint16_t>(sign | round_off(magnitude - (112u << 23u), 13));
    // Subnormal: multiples of 2^-24.
    const double steps = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
}

uint16_t narrow_bf16(float value) { return static_cast<uint16_t>(round_off(std::bit_cast<uint32_t>(value), 16)); }

Tensor make_values(const TensorType &type, Values values, bool weight, std::optional<std::pair<int64_t, int64_t>> range,
                   uint64_t seed, std::string_view port) {
    Random random(seed, port);
    if (type.dtype == DType::i32)
        return draw_integers(type.shape, values,
                             range.value_or(std::pair<int64_t, int64_t>(INT32_MIN, int64_t{1} << 31)), random);
    const bool matrix = weight && type.shape.size() > 1;
    const double scale = matrix ? 1 / std::sqrt(static_cast<double>(type.shape.back())) : 1;
    const Tensor wide = Tensor::of(type.shape, std::span<const float>(draw_floats(type.shape, values, scale, random)));
    return type.dtype == DType::f32 ? wide : narrowed(wide, type.dtype);
}

} // namespace lamina::session
