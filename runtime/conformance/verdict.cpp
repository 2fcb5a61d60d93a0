#include "conformance/verdict.hpp"

#include "base/storage.hpp"
#include "conformance/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>

namespace lamina {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Shape index_of(size_t element, const Shape &shape) {
    Shape index(shape.size());
    auto rest = static_cast<int64_t>(element);
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
    return index;
}

// The distance of two floats in units in the last place; -0 and 0 are the same.
uint64_t ulps_between(float a, float b) {
    const auto place = [](float v) {
        const auto bits = std::bit_cast<int32_t>(v);
        return bits < 0 ? -static_cast<int64_t>(bits & 0x7fffffff) : static_cast<int64_t>(bits);
    };
    return static_cast<uint64_t>(std::abs(place(a) - place(b)));
}

// The difference of two values: 0 if both are the same non-finite value, infinite if only one is non-finite.
double error_between(float got, float expected) {
    if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : infinite;
    if (std::isinf(got) || std::isinf(expected)) return got == expected ? 0 : infinite;
    return std::abs(static_cast<double>(got) - expected);
}

double ratio_of(double error, double limit) { return error == 0 ? 0 : limit == 0 ? infinite : error / limit; }

void compare_row(std::span<const float> got, std::span<const float> expected, const lamina_tolerance &tolerance,
                 size_t first, const Shape &shape, Verdict &verdict) {
    double largest = 0;
    for (const float v : expected)
        if (std::isfinite(v)) largest = std::max(largest, std::abs(static_cast<double>(v)));
    const double limit = tolerance.rtol * largest + tolerance.atol;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double error = error_between(got[i], expected[i]);
        const double ratio = ratio_of(error, limit);
        if (ratio < verdict.ratio || (ratio == verdict.ratio && !verdict.index.empty())) continue;
        verdict.ratio = ratio, verdict.error = error, verdict.limit = limit;
        verdict.got = got[i], verdict.expected = expected[i];
        verdict.index = index_of(first + i, shape);
        verdict.ulps = std::isfinite(error) ? ulps_between(got[i], expected[i]) : 0;
    }
}

void compare_integers(std::span<const int32_t> got, std::span<const int32_t> expected, const Shape &shape,
                      Verdict &verdict) {
    for (size_t i = 0; i < expected.size() && verdict.ratio == 0; ++i) {
        if (got[i] == expected[i]) continue;
        verdict.got = got[i], verdict.expected = expected[i];
        verdict.error = std::abs(verdict.got - verdict.expected);
        verdict.ulps = static_cast<uint64_t>(verdict.error);
        verdict.ratio = infinite;
        verdict.index = index_of(i, shape);
    }
}

} // namespace

std::string Verdict::text() const {
    std::ostringstream out;
    out.precision(9);
    if (compared == 0) {
        out << tensor << ": nothing was compared";
        return out.str();
    }
    const std::string place = to_string(index);
    out << tensor << '[' << place.substr(1, place.size() - 2) << "]: expected " << expected << ", found " << got;
    if (!std::isfinite(error)) return out.str();
    out << ": off by " << error;
    if (std::signbit(got) == std::signbit(expected)) out << " (" << ulps << " ULP)"; // across zero they say nothing
    out.precision(3);
    if (std::isfinite(ratio)) out << ", " << ratio << " times the " << limit << " allowed in its row";
    return out.str();
}

Verdict compare(const Tensor &got, const Tensor &expected, const lamina_tolerance &tolerance, const std::string &name) {
    Verdict verdict;
    verdict.tensor = name;
    if (got.type() != expected.type() || expected.size() == 0) return verdict;
    verdict.compared = static_cast<size_t>(expected.size());
    if (expected.dtype() == DType::i32) {
        compare_integers(got.i32(), expected.i32(), expected.shape(), verdict);
    } else {
        const auto columns = static_cast<size_t>(expected.shape().empty() ? 1 : expected.shape().back());
        const Tensor found = widened(got), right = widened(expected);
        for (size_t first = 0; first < verdict.compared; first += columns)
            compare_row(found.f32().subspan(first, columns), right.f32().subspan(first, columns), tolerance, first,
                        expected.shape(), verdict);
    }
    verdict.passed = verdict.ratio <= 1;
    return verdict;
}

std::string odds_of_missing(size_t runs) {
    const size_t one_of = std::max<size_t>(2, runs / 3); // the rule of three: missed with probability 0.05
    std::ostringstream out;
    out.precision(2);
    out << "a fault in 1 of " << one_of << " runs would have been missed with probability "
        << std::pow(1 - 1 / static_cast<double>(one_of), static_cast<double>(runs));
    return out.str();
}

namespace conformance {

lamina_tolerance tolerance_of(const lamina_layer &layer, uint32_t arithmetic) {
    for (const lamina_tolerance &t : std::span(layer.tolerances, layer.n_tolerances))
        if (t.arithmetic == arithmetic) return t;
    throw std::logic_error("a layer without a tolerance for its own arithmetic");
}

lamina_tolerance tolerance_of(const abi::LayerCall &call, uint32_t arithmetic) {
    const lamina_layer &layer = *call.layer().contract;
    const std::span tolerances(layer.tolerances, layer.n_tolerances);
    const bool narrow = std::ranges::any_of(call.types(abi::PortList::state), [](const TensorType &state) {
        return !state.shape.empty() && state.dtype != DType::f32;
    });
    const bool rounds =
        call.layer().pattern != nullptr && narrow && arithmetic == LAMINA_F32 &&
        std::ranges::find(tolerances, uint32_t{LAMINA_F16}, &lamina_tolerance::arithmetic) != tolerances.end();
    return tolerance_of(layer, rounds ? uint32_t{LAMINA_F16} : arithmetic);
}

Verdict compare_rows(const Tensor &got, const Tensor &expected, std::span<const int64_t> rows,
                     const lamina_tolerance &tolerance, const std::string &name) {
    Verdict verdict = compare(pick_rows(got, rows), pick_rows(expected, rows), tolerance, name);
    if (verdict.index.empty()) return verdict;
    const int64_t row = rows[static_cast<size_t>(verdict.index[0])];
    verdict.index = index_of(static_cast<size_t>(row * expected.shape().back() + verdict.index[1]), expected.shape());
    return verdict;
}

std::vector<int64_t> doubtful_rows(const Tensor &got, const Tensor &other, const lamina_tolerance &tolerance,
                                   size_t count) {
    std::vector<std::pair<double, int64_t>> doubts; // by ratio
    const Tensor found = got.dtype() == DType::i32 ? got : widened(got);
    const Tensor right = other.dtype() == DType::i32 ? other : widened(other);
    const auto columns = static_cast<size_t>(found.shape().empty() ? 1 : found.shape().back());
    const auto size = static_cast<size_t>(found.size());
    for (size_t first = 0; first < size; first += columns) {
        Verdict row;
        if (found.dtype() == DType::i32)
            compare_integers(found.i32().subspan(first, columns), right.i32().subspan(first, columns),
                             {static_cast<int64_t>(columns)}, row);
        else
            compare_row(found.f32().subspan(first, columns), right.f32().subspan(first, columns), tolerance, 0,
                        {static_cast<int64_t>(columns)}, row);
        if (row.ratio > 0.5) doubts.emplace_back(row.ratio, static_cast<int64_t>(first / columns));
    }
    std::ranges::stable_sort(doubts, std::greater(), [](const auto &doubt) { return doubt.first; });
    if (doubts.size() > count) doubts.resize(count);
    std::vector<int64_t> out;
    for (const auto &[ratio, row] : doubts) out.push_back(row);
    std::ranges::sort(out);
    return out;
}

bool add(Verdict &all, const Verdict &one) {
    const bool first = all.tensor.empty();
    const bool worst = first || (all.passed != one.passed ? all.passed : one.ratio > all.ratio);
    const bool passed = (first || all.passed) && one.passed;
    const bool complete = (first || all.compared != 0) && one.compared != 0;
    const size_t compared = complete ? all.compared + one.compared : 0;
    if (worst) all = one;
    all.passed = passed;
    all.compared = compared;
    return worst;
}

} // namespace conformance
} // namespace lamina
