// Products and softmax of panels, with every instruction set that the processor has, compared with sums in double.
#include "panels.hpp"

#include "instruction_sets.hpp"

#include <cmath>
#include <limits>

using namespace lamina::plugin;
using lamina::test::for_instruction_sets, lamina::test::numbers;

namespace {

constexpr float infinite_score = std::numeric_limits<float>::infinity();

size_t at(int64_t row, int64_t step, int64_t col) { return static_cast<size_t>(row * step + col); }

} // namespace

TEST_CASE("cpu_fallback: rows are packed into panels and come back as they were, with bias and residual") {
    const auto count = GENERATE(int64_t{1}, int64_t{3}, int64_t{4}, int64_t{6}, int64_t{8}, int64_t{13}, int64_t{32});
    const auto inner = GENERATE(int64_t{1}, int64_t{4}, int64_t{7}, int64_t{32});
    for_instruction_sets([&] {
        const int64_t columns = cpu_fallback::panel_columns(count), taken = std::min(count, columns), step = inner + 2;
        const std::vector<float> x = numbers(count * step), bias = numbers(inner), added = numbers(count * step);
        std::vector<float> panel(static_cast<size_t>(inner * columns) + 1, 7), y(x.size(), 7), sum = y;
        cpu_fallback::pack_panel({x.data(), taken, step}, inner, panel.data(), columns);
        CHECK(panel.back() == 7);
        for (int64_t c = taken; c < columns; ++c) CHECK(panel[static_cast<size_t>(c)] == 0);
        cpu_fallback::unpack_panel(panel.data(), inner, columns, nullptr, nullptr, y.data(), taken, step);
        cpu_fallback::unpack_panel(panel.data(), inner, columns, bias.data(), added.data(), sum.data(), taken, step);
        for (int64_t r = 0; r < taken; ++r) {
            for (int64_t i = 0; i < inner; ++i) {
                const size_t v = at(r, step, i);
                CHECK(panel[at(i, columns, r)] == x[v]);
                CHECK(y[v] == x[v]);
                CHECK(sum[v] == x[v] + bias[static_cast<size_t>(i)] + added[v]);
            }
            CHECK(y[at(r, step, inner)] == 7);
        }
    });
}

TEST_CASE("cpu_fallback: products of panels") {
    const auto rows = GENERATE(int64_t{1}, int64_t{2}, int64_t{7}, int64_t{25});
    const auto inner = GENERATE(int64_t{1}, int64_t{5}, int64_t{64}, int64_t{131});
    const bool transposed = GENERATE(false, true);
    for_instruction_sets([&] {
        for (const int64_t wanted : {1, 12, 64}) {
            const int64_t columns = cpu_fallback::panel_columns(wanted);
            const std::vector<float> a = numbers(rows * inner), x = numbers(inner * columns);
            std::vector<float> y(static_cast<size_t>(rows * columns) + 1, 7);
            const int64_t row_step = transposed ? 1 : inner, inner_step = transposed ? rows : 1;
            for (const bool add : {false, true}) {
                cpu_fallback::multiply_panel({a.data(), row_step, inner_step}, rows, inner, x.data(), y.data(), columns,
                                             add);
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t c = 0; c < columns; ++c) {
                        double sum = 0, size = 0;
                        for (int64_t i = 0; i < inner; ++i) {
                            const double term =
                                double{a[static_cast<size_t>(r * row_step + i * inner_step)]} * x[at(i, columns, c)];
                            sum += term, size += std::fabs(term);
                        }
                        CHECK(std::fabs(y[at(r, columns, c)] - (add ? 2 : 1) * sum) <= 2e-6 * size);
                    }
            }
            CHECK(y.back() == 7);
        }
    });
}

TEST_CASE("cpu_fallback: softmax of columns in blocks of rows, some of them masked") {
    const auto rows = GENERATE(int64_t{1}, int64_t{5}, int64_t{64}, int64_t{200});
    const auto block = GENERATE(int64_t{3}, int64_t{64}, int64_t{200});
    for_instruction_sets([&] {
        const int64_t columns = cpu_fallback::panel_columns(64), inner = 2;
        std::vector<float> x = numbers(rows * columns);
        for (int64_t r = 0; r < rows; ++r) {
            x[at(r, columns, 1)] = -infinite_score;                 // a column of masked scores
            if (r % 2 == 1) x[at(r, columns, 2)] = -infinite_score; // every second one
            x[at(r, columns, 3)] += 80;
            if (r < rows / 2) x[at(r, columns, 4)] = -infinite_score; // whole blocks
            x[at(r, columns, 5)] += static_cast<float>(r);            // the greatest value is the last
            if (r % 2 == 1) x[at(r, columns, 6)] = -1e30F;            // exponentials that no float can hold
            x[at(r, columns, 7)] -= static_cast<float>(r) / 2;        // and some that are just above and below that
        }
        x[at(0, columns, 0)] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> weights = numbers(inner * rows);

        std::vector<float> greatest(static_cast<size_t>(columns), cpu_fallback::least_score);
        std::vector<float> total(static_cast<size_t>(columns)), sums(static_cast<size_t>(inner * columns));
        std::vector<float> y = x;
        for (int64_t begin = 0; begin < rows; begin += block) {
            const int64_t n = std::min(block, rows - begin);
            float *const values = y.data() + begin * columns;
            cpu_fallback::softmax_block(values, n, columns, {greatest.data(), total.data()}, sums.data(), inner);
            cpu_fallback::multiply_panel({weights.data() + begin, rows, 1}, inner, n, values, sums.data(), columns,
                                         true);
        }
        cpu_fallback::divide_by_totals(sums.data(), inner, columns, total.data());

        for (int64_t c = 1; c < columns; ++c) {
            double most = -1e30, divisor = 0;
            for (int64_t r = 0; r < rows; ++r) most = std::max<double>(most, x[at(r, columns, c)]);
            for (int64_t r = 0; r < rows; ++r) divisor += std::exp(x[at(r, columns, c)] - most);
            for (int64_t i = 0; i < inner; ++i) {
                double expected = 0;
                for (int64_t r = 0; r < rows && c != 1; ++r)
                    expected += weights[at(i, rows, r)] * std::exp(x[at(r, columns, c)] - most) / divisor;
                CHECK(std::fabs(sums[at(i, columns, c)] - expected) <= 2e-6);
            }
        }
        CHECK(std::isnan(sums[at(0, columns, 0)]));
    });
}
