// Functions of arrays, with every instruction set that the processor has, compared with those of the standard library.
#include "arrays.hpp"

#include "instruction_sets.hpp"

#include <lamina/plugin/product.hpp> // activate() in double

#include <cmath>
#include <limits>
#include <numbers>

using namespace lamina::plugin;
using lamina::test::for_instruction_sets, lamina::test::numbers;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

// Of lengths around those of vectors; what lies behind must stay as it is.
constexpr int64_t lengths[] = {1, 3, 4, 7, 8, 15, 16, 17, 33, 100, 1500};

std::vector<float> with_guard(std::vector<float> values) {
    values.push_back(7);
    return values;
}

} // namespace

TEST_CASE("cpu_fallback: activations are those of the references") {
    const auto activation = GENERATE(Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                     Activation::silu, Activation::tanh);
    std::vector<float> x{0, -0.0F, 1e-30F, 20, -20, 90, -90, 200, -200, 1e30F, -1e30F, infinity};
    for (float v = -12; v < 12; v += 0.03125F) x.push_back(v);
    for_instruction_sets([&] {
        std::vector<float> y = with_guard(x);
        cpu_fallback::activate(static_cast<uint32_t>(activation), y.data(), static_cast<int64_t>(x.size()));
        for (size_t i = 0; i < x.size(); ++i) {
            INFO("of " << x[i]);
            const double expected = activate(activation, x[i]);
            if (std::isinf(expected))
                CHECK(y[i] == expected);
            else
                CHECK(std::fabs(y[i] - expected) <= 1e-6 + 1e-6 * std::fabs(expected));
        }
        CHECK(y.back() == 7);

        std::vector<float> no_number{1, not_a_number, 1};
        cpu_fallback::activate(static_cast<uint32_t>(activation), no_number.data(), 3);
        CHECK(std::isnan(no_number[1]));
        CHECK_FALSE(std::isnan(no_number[2]));
    });
}

TEST_CASE("cpu_fallback: sines and cosines of phases in turns") {
    for_instruction_sets([] {
        for (const int64_t n : lengths) {
            std::vector<uint32_t> phases;
            for (uint32_t i = 0; static_cast<int64_t>(phases.size()) < n; ++i) // an eighth of a turn, and all around
                phases.push_back(i % 2 == 0 ? i << 28U : 2654435769U * i);
            std::vector<float> sines = with_guard(numbers(n)), cosines = sines;
            cpu_fallback::sines_and_cosines(phases.data(), n, sines.data(), cosines.data());
            for (size_t i = 0; i < phases.size(); ++i) {
                const double angle = phases[i] * 0x1p-31 * std::numbers::pi;
                CHECK(std::fabs(sines[i] - std::sin(angle)) <= 2e-7);
                CHECK(std::fabs(cosines[i] - std::cos(angle)) <= 2e-7);
            }
            CHECK((sines.back() == 7 && cosines.back() == 7));
        }
    });
}

TEST_CASE("cpu_fallback: greatest values and sums of exponentials") {
    for_instruction_sets([] {
        for (const int64_t n : lengths) {
            std::vector<float> x = with_guard(numbers(n));
            x[static_cast<size_t>(n / 2)] = -infinity;
            x[static_cast<size_t>(n - 1)] = 5;
            CHECK(cpu_fallback::greatest(x.data(), n) == 5);
            const std::vector<float> before = x;
            const double sum = cpu_fallback::exponentials(x.data(), n, 5);
            double expected = 0;
            for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
                const double e = std::exp(double{before[i]} - 5);
                CHECK(std::fabs(x[i] - e) <= 1e-6 * e);
                expected += e;
            }
            CHECK(std::fabs(sum - expected) <= 1e-6 * expected);
            cpu_fallback::scale(x.data(), n, 2);
            CHECK(x[static_cast<size_t>(n - 1)] == 2);
            CHECK(x.back() == 7);
        }
        const std::vector<float> negative(5, -3), hidden(5, -infinity);
        CHECK(cpu_fallback::greatest(negative.data(), 5) == -3);
        CHECK(cpu_fallback::greatest(hidden.data(), 5) == std::numeric_limits<float>::lowest());
        std::vector<float> no_number{0, not_a_number};
        CHECK(std::isnan(cpu_fallback::exponentials(no_number.data(), 2, 0)));
        CHECK(no_number[0] == 1);
    });
}

TEST_CASE("cpu_fallback: norms of rows, also of those whose mean is large") {
    const auto offset = GENERATE(0.0F, 1e4F);
    for_instruction_sets([&] {
        for (const int64_t n : lengths) {
            std::vector<float> x = numbers(n);
            for (float &v : x) v += offset;
            const std::vector<float> weight = numbers(n), bias = numbers(n), added = numbers(n);
            std::vector<float> layer(static_cast<size_t>(n + 1), 7), rms = layer;
            cpu_fallback::layer_norm_row(x.data(), n, 1e-3,
                                         {weight.data(), bias.data(), added.data(), 0, layer.data()});
            cpu_fallback::rms_norm_row(x.data(), n, 1e-3, {weight.data(), nullptr, nullptr, 1, rms.data()});
            double mean = 0, variance = 0, squares = 0;
            for (const double v : x) mean += v / static_cast<double>(n), squares += v * v / static_cast<double>(n);
            for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
            for (size_t i = 0; i < x.size(); ++i) {
                const double normal = (x[i] - mean) / std::sqrt(variance + 1e-3);
                CHECK(std::fabs(layer[i] - (normal * weight[i] + bias[i] + added[i])) <= 1e-5);
                CHECK(std::fabs(rms[i] - x[i] / std::sqrt(squares + 1e-3) * (1.0 + weight[i])) <= 1e-5);
            }
            CHECK(layer.back() == 7);
            CHECK(rms.back() == 7);
        }
    });
}
