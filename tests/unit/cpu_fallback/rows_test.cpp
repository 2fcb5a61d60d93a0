// The SIMD code that reads weights as they are stored, with every instruction set that the processor has.
#include "rows.hpp"

#include "at_the_edge.hpp"
#include "instruction_sets.hpp"
#include "strips.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace lamina::plugin;
using lamina::test::AtTheEdge, lamina::test::for_instruction_sets, lamina::test::numbers;

namespace {

struct Weight {
    Weight(const StorageType &of, int64_t n, int64_t width)
        : type(of), rows(n), values(width), stored(static_cast<size_t>(type.row_bytes(values) * rows)),
          wide(numbers(rows * values)) {
        type.narrow(wide.data(), rows * values / type.block_values, stored.data());
        type.widen(stored.data(), rows * values / type.block_values, wide.data());
    }
    [[nodiscard]] cpu_fallback::WeightRows all() const {
        return {type.dtype, stored.data(), rows, values, type.row_bytes(values)};
    }

    const StorageType &type;
    int64_t rows, values;
    AtTheEdge stored;
    std::vector<float> wide;
};

// x as rows that follow each other, up to where memory ends.
class Rows {
  public:
    Rows(const Weight &weight, const std::vector<float> &x, int64_t rows)
        : step_((weight.values + 31) / 32 * 32), floats_(static_cast<size_t>(rows * step_) * sizeof(float)) {
        auto *const floats = reinterpret_cast<float *>(floats_.data());
        for (int64_t r = 0; r < rows; ++r) std::copy_n(x.data() + r * weight.values, weight.values, floats + r * step_);
        all = {floats, rows, step_};
    }
    cpu_fallback::FewRows all{};

  private:
    int64_t step_;
    AtTheEdge floats_;
};

// The product with `rows` rows of x, compared with sums in double.
void check_product(const Weight &weight, const std::vector<float> &x, int64_t rows) {
    const Rows of_x(weight, x, rows);
    const int64_t apart = weight.rows + 1; // of y's rows; what lies between them stays as it is
    std::vector<float> y(static_cast<size_t>(rows * apart), 1);
    cpu_fallback::add_products(weight.all(), of_x.all, y.data(), apart);
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t n = 0; n < weight.rows; ++n) {
            double sum = 1, size = 1;
            for (int64_t k = 0; k < weight.values; ++k) {
                const double term = double{weight.wide[static_cast<size_t>(n * weight.values + k)]} *
                                    x[static_cast<size_t>(r * weight.values + k)];
                sum += term, size += std::fabs(term);
            }
            CHECK(std::fabs(y[static_cast<size_t>(r * apart + n)] - sum) <= 1e-6 * size);
        }
        CHECK(y[static_cast<size_t>(r * apart + weight.rows)] == 1);
    }
}

// Whether products may read weights row by row: those of eight bits do without dot products.
bool has_rows(const StorageType &type) {
    return type.dtype != LAMINA_I32 && (!type.in_blocks() || type.dtype == LAMINA_Q8_0);
}

} // namespace

TEST_CASE("cpu_fallback: rows of weights are widened exactly, and multiplied as in double") {
    REQUIRE(hwy::SupportedAndGeneratedTargets().size() > 1);
    for_instruction_sets([] {
        for (const StorageType &type : storage_types) {
            if (!has_rows(type)) continue;
            INFO("dtype " << type.name);
            const std::vector<int64_t> widths =
                type.in_blocks() ? std::vector<int64_t>{type.block_values, 3 * type.block_values, 6 * type.block_values}
                                 : std::vector<int64_t>{1, 31, 32, 45, 96};
            for (const int64_t values : widths) {
                const Weight weight(type, 5, values);
                std::vector<float> out(weight.wide.size());
                cpu_fallback::widen(weight.all(), out.data());
                CHECK(out == weight.wide);
                for (const int64_t rows : {1, 2, 3, 4, 7}) check_product(weight, numbers(rows * values), rows);
            }
        }
    });
}

TEST_CASE("cpu_fallback: infinities and NaN in x come out as in a product of floats") {
    for_instruction_sets([] {
        for (const StorageType &type : storage_types) {
            if (!has_rows(type)) continue;
            INFO("dtype " << type.name);
            const Weight weight(type, 4, 256);
            for (const float value :
                 {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
                std::vector<float> x = numbers(2 * weight.values), y(static_cast<size_t>(2 * weight.rows));
                x[77] = value; // of the first row alone
                const Rows of_x(weight, x, 2);
                cpu_fallback::add_products(weight.all(), of_x.all, y.data(), weight.rows);
                for (int64_t n = 0; n < weight.rows; ++n) {
                    const auto row = static_cast<size_t>(n);
                    const float expected = weight.wide[row * 256 + 77] * value;
                    CHECK((std::isnan(expected) ? std::isnan(y[row]) : y[row] == expected));
                    CHECK(std::isfinite(y[row + 4]));
                }
            }
        }
    });
}

TEST_CASE("cpu_fallback: f16 infinities, subnormals and signed zeros are widened as the dtype says") {
    const std::vector<uint16_t> halves{0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x3c00};
    const StorageType &type = storage_type(LAMINA_F16);
    for_instruction_sets([&] {
        std::vector<float> expected(halves.size()), found(halves.size());
        const auto *bytes = reinterpret_cast<const std::byte *>(halves.data());
        const auto n = static_cast<int64_t>(halves.size());
        type.widen(bytes, n, expected.data());
        cpu_fallback::widen({LAMINA_F16, bytes, 1, n, 2 * n}, found.data());
        for (size_t i = 0; i < found.size(); ++i) {
            CHECK(found[i] == expected[i]);
            CHECK(std::signbit(found[i]) == std::signbit(expected[i]));
        }
    });
}

TEST_CASE("cpu_fallback: sums of weighted rows, as of cached values") {
    const auto dtype = GENERATE(uint32_t{LAMINA_F32}, uint32_t{LAMINA_F16});
    const auto cols = GENERATE(int64_t{5}, int64_t{64}, int64_t{77});
    const Weight rows(storage_type(dtype), 9, cols);
    for_instruction_sets([&] {
        for (const int64_t count : {1, 2, 5}) {
            const std::vector<float> x = numbers(count * rows.rows);
            std::vector<float> y(static_cast<size_t>(count * cols), 1);
            cpu_fallback::add_weighted(rows.all(), x.data(), rows.rows, count, y.data(), cols);
            for (int64_t r = 0; r < count; ++r)
                for (int64_t c = 0; c < cols; ++c) {
                    double sum = 1;
                    for (int64_t n = 0; n < rows.rows; ++n)
                        sum += double{x[static_cast<size_t>(r * rows.rows + n)]} *
                               rows.wide[static_cast<size_t>(n * cols + c)];
                    CHECK(std::fabs(y[static_cast<size_t>(r * cols + c)] - sum) <= 1e-5);
                }
        }
    });
}
