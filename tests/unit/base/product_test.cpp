#include "catch.hpp"

#include "base/product.hpp"

#include <cmath>
#include <vector>

using namespace lamina;

TEST_CASE("a product has the sums of all its products, whatever its sizes are") {
    for (const auto &[rows, inner, outputs] :
         std::vector<std::array<size_t, 3>>{{1, 1, 1}, {3, 64, 32}, {5, 150, 70}}) {
        INFO(rows << " x " << inner << " x " << outputs);
        std::vector<float> x(rows * inner), weight(outputs * inner), bias(outputs), y(rows * outputs, 7.0F);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(i));
        for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(std::cos(3 * i));
        for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
        multiply(x, weight, bias, y);
        for (size_t r = 0; r < rows; ++r)
            for (size_t n = 0; n < outputs; ++n) {
                double sum = bias[n];
                for (size_t i = 0; i < inner; ++i) sum += double{x[r * inner + i]} * weight[n * inner + i];
                CHECK_THAT(y[r * outputs + n], matchers::within_abs(sum, 1e-4));
            }
    }
    multiply({}, {}, {}, {}); // nothing to do
}
