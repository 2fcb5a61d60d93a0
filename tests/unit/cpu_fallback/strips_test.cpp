// Weights of few bits in strips, with every instruction set that the processor has.
#include "strips.hpp"

#include "at_the_edge.hpp"
#include "instruction_sets.hpp"
#include "matrix.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace lamina::plugin;
using namespace lamina::plugin::cpu_fallback;
using lamina::test::AtTheEdge, lamina::test::for_instruction_sets, lamina::test::numbers;

namespace {

bool has_dot_products(int64_t set) { return (set & HWY_AVX3_DL) != 0; }

template <class F> void for_dtypes(int64_t set, const F &f) {
    for (const StorageType &type : storage_types)
        if (type.in_blocks() && (type.dtype != LAMINA_Q8_0 || has_dot_products(set))) {
            INFO("dtype " << type.name);
            f(type);
        }
}

// Up to sixteen rows of a weight, and their strip.
struct Strips {
    Strips(const StorageType &of, int64_t n, int64_t width) : Strips(of, n, width, numbers(n * width)) {}
    Strips(const StorageType &of, int64_t n, int64_t width, std::vector<float> floats)
        : type(of), rows(n), values(width), stored(static_cast<size_t>(type.row_bytes(values) * rows)),
          strip(static_cast<size_t>(type.row_bytes(values) * strip_rows)), wide(std::move(floats)) {
        type.narrow(wide.data(), rows * values / type.block_values, stored.data());
        type.widen(stored.data(), rows * values / type.block_values, wide.data());
        put_strip(type.dtype, stored.data(), rows, values, strip.data());
    }
    [[nodiscard]] float at(int64_t n, int64_t i) const { return wide[static_cast<size_t>(n * values + i)]; }

    const StorageType &type;
    int64_t rows, values;
    AtTheEdge stored, strip;
    std::vector<float> wide;
};

// Each 32 values as multiples of what the greatest of them is of so many integers.
std::vector<double> rounded(const std::vector<float> &x, float integers) {
    std::vector<double> out;
    for (size_t i = 0; i < x.size(); i += 32) {
        float greatest = 1e-30F;
        for (size_t j = i; j < i + 32; ++j) greatest = std::max(greatest, std::fabs(x[j]));
        for (size_t j = i; j < i + 32; ++j)
            out.push_back(double{std::nearbyint(x[j] * (integers / greatest))} * greatest / integers);
    }
    return out;
}

// The product with `rows` rows of x in so many digits, or as floats (0), compared with sums in double.
void check_strips(int64_t set, int digits, const Strips &weight, const std::vector<float> &floats, int64_t rows) {
    INFO(digits << " digits, " << rows << " rows");
    const std::vector<double> x = digits == 1   ? rounded(floats, 127)
                                  : digits == 2 ? rounded(floats, 127 * 256)
                                                : std::vector<double>(floats.begin(), floats.end());
    const RowsForm form = rows_form(weight.type.dtype, digits);
    const Array<std::byte> formed(rows * weight.values / 32 * form.bytes());
    REQUIRE(to_form(form, floats.data(), rows, weight.values, formed.data()));
    const int64_t apart = weight.rows + 1; // of y's rows; what lies between them stays as it is
    std::vector<float> y(static_cast<size_t>(rows * apart), 1);
    add_strip_products({weight.type.dtype, weight.strip.data(), weight.values, weight.rows, form, formed.data(), rows,
                        has_dot_products(set)},
                       y.data(), apart);
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t n = 0; n < weight.rows; ++n) {
            double sum = 1, size = 1;
            for (int64_t i = 0; i < weight.values; ++i) {
                const double term = double{weight.at(n, i)} * x[static_cast<size_t>(r * weight.values + i)];
                sum += term, size += std::fabs(term);
            }
            CHECK(std::fabs(y[static_cast<size_t>(r * apart + n)] - sum) <= 1e-6 * size);
        }
        CHECK(y[static_cast<size_t>(r * apart + weight.rows)] == 1);
    }
}
void check_strips(int64_t set, const Strips &weight, const std::vector<float> &x, int64_t rows) {
    for (const int digits : {0, 1, 2, 3})
        if (digits > 0 || multiplies_floats()) check_strips(set, digits, weight, x, rows);
}

} // namespace

TEST_CASE("cpu_fallback: strips are widened exactly, and multiplied as in double") {
    REQUIRE(hwy::SupportedAndGeneratedTargets().size() > 1);
    for_instruction_sets([](int64_t set) {
        for_dtypes(set, [set](const StorageType &type) {
            for (const int64_t blocks : {1, 3, 6})
                for (const int64_t n : {1, 5, 16}) {
                    const Strips weight(type, n, blocks * type.block_values);
                    for (int64_t first = 0; first < weight.values; first += type.block_values) {
                        constexpr int64_t step = strip_rows + 3;
                        std::vector<float> out(static_cast<size_t>((weight.values - first) * step));
                        widen_strip(type.dtype, weight.strip.data(), first, weight.values - first, out.data(), step);
                        bool same = true;
                        for (int64_t i = first; i < weight.values; ++i)
                            for (int64_t r = 0; r < strip_rows; ++r)
                                same = same && out[static_cast<size_t>((i - first) * step + r)] ==
                                                   weight.at(std::min(r, n - 1), i);
                        CHECK(same);
                    }
                    for (const int64_t rows : {1, 3, 9, 29})
                        check_strips(set, weight, numbers(rows * weight.values), rows);
                }
        });
    });
}

TEST_CASE("cpu_fallback: the largest integers of weights and of x do not overflow") {
    for_instruction_sets([](int64_t set) {
        for_dtypes(set, [set](const StorageType &type) {
            for (const float sign : {1.0F, -1.0F}) {
                const int64_t values = 2 * type.block_values;
                std::vector<float> wide(static_cast<size_t>(strip_rows * values), sign);
                for (size_t i = 0; i < wide.size(); i += 16) wide[i] = -sign; // so that the others are the greatest
                const Strips weight(type, strip_rows, values, wide);
                check_strips(set, weight, std::vector<float>(static_cast<size_t>(values), 1), 1);
                check_strips(set, weight, std::vector<float>(static_cast<size_t>(values), -1), 1);
            }
        });
    });
}

TEST_CASE("cpu_fallback: strips times values of very unequal sizes") {
    // Integers stand for 32 values. So a large value must not cost others their accuracy, and neither zeros nor the
    // smallest floats may divide by zero.
    for_instruction_sets([](int64_t set) {
        for_dtypes(set, [set](const StorageType &type) {
            const Strips weight(type, 3, 2 * std::max<int64_t>(type.block_values, 128));
            std::vector<float> x = numbers(weight.values);
            for (int64_t i = 0; i < weight.values; ++i) {
                static constexpr float sizes[] = {1, 1e6F, 0, 1e-36F, 1e-3F, 3e4F, 1e-8F, 1};
                x[static_cast<size_t>(i)] *= sizes[i / 32 % 8];
            }
            for (const float all : {1.0F, -0.0F, 1e-6F, 1e25F}) {
                std::vector<float> scaled = x;
                for (float &v : scaled) v *= all;
                check_strips(set, weight, scaled, 1);
            }
            std::ranges::fill(x, 0.0F); // but for 32
            for (int64_t i = 32; i < 64; ++i) x[static_cast<size_t>(i)] = i % 2 == 0 ? 5 : -5;
            check_strips(set, weight, x, 1);
        });
    });
}

TEST_CASE("cpu_fallback: infinities and NaN are no digits") {
    for_instruction_sets([] {
        for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            for (const int count : {1, 2, 3}) {
                std::vector<float> x = numbers(128);
                const RowsForm form{count};
                const Array<std::byte> digits(4 * form.bytes());
                CHECK(to_form(form, x.data(), 2, 64, digits.data()));
                x[77] = value;
                CHECK(!to_form(form, x.data(), 2, 64, digits.data()));
            }
        }
    });
}

TEST_CASE("cpu_fallback: rows that do not fill a strip stay as they are") {
    const StorageType &type = storage_type(LAMINA_Q4_1);
    constexpr int64_t values = 64, others = 2;
    const int64_t row_bytes = type.row_bytes(values), of_strip = strip_rows * row_bytes;
    const Strips weight(type, strip_rows, values);
    std::vector<std::byte> rows(static_cast<size_t>(of_strip + others * row_bytes), std::byte{7}), found(rows.size());
    std::copy_n(weight.stored.data(), of_strip, rows.begin());
    put_strips(type.dtype, rows.data(), strip_rows + others, values, found.data());
    CHECK(std::equal(found.begin(), found.begin() + of_strip, weight.strip.data()));
    CHECK(std::equal(found.begin() + of_strip, found.end(), rows.begin() + of_strip));
}
