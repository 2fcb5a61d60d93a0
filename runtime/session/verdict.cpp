#include "session/verdict.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace lamina::session {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Floats as integers in their order, so that neighbours differ by one.
int64_t ordered(float v) {
    const auto bits = std::bit_cast<int32_t>(v);
    return bits < 0 ? static_cast<int64_t>(INT32_MIN) - bits : bits;
}

uint64_t ulp_between(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : UINT64_MAX;
    const int64_t d = ordered(a) - ordered(b);
    return static_cast<uint64_t>(d < 0 ? -d : d);
}

double difference(float got, float expected) {
    if (std::isfinite(got) && std::isfinite(expected)) return std::abs(static_cast<double>(got) - expected);
    const bool same = (std::isnan(got) && std::isnan(expected)) || got == expected;
    return same ? 0 : infinity;
}

Verdict judge_row(std::span<const float> got, std::span<const float> expected, const lamina_tolerance &tolerance) {
    double magnitude = 0;
    Verdict v;
    for (size_t i = 0; i < got.size(); ++i) {
        if (std::isfinite(expected[i])) magnitude = std::max(magnitude, std::abs(static_cast<double>(expected[i])));
        const double d = difference(got[i], expected[i]);
        if (d > v.error || (v.index < 0 && d > 0)) v.error = d, v.index = static_cast<int64_t>(i);
    }
    const double limit = tolerance.rtol * magnitude + tolerance.atol;
    v.ratio = v.error == 0 ? 0 : limit > 0 ? v.error / limit : infinity;
    v.agrees = v.ratio <= 1;
    return v;
}

Verdict judge_floats(std::span<const float> got, std::span<const float> expected, size_t cols,
                     const lamina_tolerance &tolerance) {
    Verdict out;
    out.agrees = true;
    double error = 0;
    for (size_t begin = 0; begin < got.size(); begin += cols) {
        Verdict row = judge_row(got.subspan(begin, cols), expected.subspan(begin, cols), tolerance);
        error = std::max(error, row.error);
        if (row.index >= 0) row.index += static_cast<int64_t>(begin);
        if (row.ratio > out.ratio) out = row;
    }
    out.error = error;
    if (out.index >= 0) {
        out.got = got[static_cast<size_t>(out.index)], out.expected = expected[static_cast<size_t>(out.index)];
        out.ulp = ulp_between(out.got, out.expected);
    }
    return out;
}

Verdict judge_integers(std::span<const int32_t> got, std::span<const int32_t> expected) {
    Verdict out;
    out.agrees = true;
    for (size_t i = 0; i < got.size(); ++i)
        if (got[i] != expected[i] && out.agrees) {
            out = {false,
                   infinity,
                   infinity,
                   static_cast<int64_t>(i),
                   static_cast<float>(got[i]),
                   static_cast<float>(expected[i]),
                   UINT64_MAX};
        }
    return out;
}

} // namespace

Verdict judge(const Tensor &got, const Tensor &expected, const lamina_tolerance &tolerance) {
    if (got.type() != expected.type())
        throw Error(ErrorCode::failure,
                    "cannot compare " + to_string(got.shape()) + " with " + to_string(expected.shape()));
    if (got.size() == 0) return {};
    if (got.dtype() == DType::i32) return judge_integers(got.i32(), expected.i32());
    return judge_floats(got.f32(), expected.f32(), static_cast<size_t>(got.shape().back()), tolerance);
}

const Verdict &worse(const Verdict &a, const Verdict &b) {
    if (a.agrees != b.agrees) return a.agrees ? b : a;
    return b.ratio > a.ratio ? b : a;
}

std::string place_in(const Shape &shape, int64_t index) {
    Shape place(shape.size());
    for (size_t axis = shape.size(); axis-- > 0;) {
        place[axis] = index % shape[axis];
        index /= shape[axis];
    }
    return to_string(place);
}

const lamina_tolerance &tolerance_of(const lamina_layer &layer, const std::string &variant) {
    uint32_t arithmetic = LAMINA_F32; // of the CPU's kernels and the references, too
    for (uint32_t i = 0; i < layer.n_variants; ++i)
        if (variant == layer.variants[i].name) arithmetic = layer.variants[i].arithmetic;
    for (uint32_t i = 0; i < layer.n_tolerances; ++i)
        if (layer.tolerances[i].arithmetic == arithmetic) return layer.tolerances[i];
    return layer.tolerances[0];
}

} // namespace lamina::session
