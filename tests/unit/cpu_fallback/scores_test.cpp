// What top_k needs of scores, with every instruction set that the processor has.
#include "scores.hpp"

#include "instruction_sets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace lamina::plugin::cpu_fallback;
using lamina::test::for_instruction_sets, lamina::test::numbers;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity(),
                not_a_score = std::numeric_limits<float>::quiet_NaN();
// Around the lengths of vectors and blocks; what lies behind must not count.
constexpr int64_t score_lengths[] = {1, 3, 8, 15, 16, 17, 63, 64, 65, 100, 1500, 5001};

double sum_of(const std::vector<float> &x, float shift) {
    return sum_of_exponentials({x.data(), nullptr}, static_cast<int64_t>(x.size()), shift);
}

} // namespace

TEST_CASE("cpu_fallback: the greatest score of each block, and sums of exponentials") {
    for_instruction_sets([] {
        for (const int64_t n : score_lengths) {
            INFO(n << " scores");
            std::vector<float> x = numbers(n), bias = numbers(n), scores(x);
            x[static_cast<size_t>(n / 2)] = scores[static_cast<size_t>(n / 2)] = -infinite;
            const bool biased = GENERATE(false, true);
            for (size_t i = 0; i < scores.size() && biased; ++i) scores[i] += bias[i];
            for (std::vector<float> *values : {&x, &bias}) values->push_back(1000);
            const Scores given{x.data(), biased ? bias.data() : nullptr};

            std::vector<float> maxima(static_cast<size_t>((n + block_scores - 1) / block_scores) + 1, 7);
            block_maxima(given, n, maxima.data());
            CHECK(maxima.back() == 7);
            for (size_t b = 0; b + 1 < maxima.size(); ++b) {
                const auto first = scores.begin() + static_cast<std::ptrdiff_t>(b) * block_scores;
                const float most = *std::max_element(first, std::min(scores.end(), first + block_scores));
                CHECK(maxima[b] == std::max(most, std::numeric_limits<float>::lowest()));
            }
            double expected = 0;
            for (const double v : scores) expected += std::exp(v - 5);
            CHECK(std::fabs(sum_of_exponentials(given, n, 5) - expected) <= 1e-6 * expected);
        }
    });
}

TEST_CASE("cpu_fallback: a score that is no number shows in the sum, and is not the greatest") {
    for_instruction_sets([] {
        for (const size_t at : {size_t{0}, size_t{40}, size_t{70}}) {
            std::vector<float> x(71, -3);
            x[at] = not_a_score;
            std::vector<float> maxima(2);
            block_maxima({x.data(), nullptr}, 71, maxima.data());
            CHECK(maxima == std::vector<float>(2, -3));
            CHECK(std::isnan(sum_of(x, -3)));
            x[at] = infinite;
            CHECK(std::isnan(sum_of(x, infinite)));
        }
        CHECK(sum_of(std::vector<float>(71, -infinite), std::numeric_limits<float>::lowest()) == 0);
        CHECK(sum_of(std::vector<float>(71, -200), 0) == 0);
    });
}
