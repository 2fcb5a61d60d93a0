#include "architectures/made_weights.hpp"

#include "architectures/weight_parts.hpp"
#include "base/product.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace lamina::architectures {
namespace {

std::span<float> floats(std::span<std::byte> bytes) {
    return {reinterpret_cast<float *>(bytes.data()), bytes.size() / sizeof(float)};
}

} // namespace

model::Weight normalized_rows(const model::Weight &table, const model::Weight &weight, const model::Weight &bias,
                              double eps) {
    return model::Weight::made_of({DType::f32, table.type.shape}, {table, weight, bias}, [=](std::span<std::byte> out) {
        const std::vector<float> x = numbers_of(table), factor = numbers_of(weight), added = numbers_of(bias);
        const size_t columns = factor.size();
        const std::span<float> y = floats(out);
        for (size_t at = 0; at < y.size(); at += columns) {
            double mean = 0, variance = 0;
            for (size_t i = 0; i < columns; ++i) mean += x[at + i] / static_cast<double>(columns);
            for (size_t i = 0; i < columns; ++i)
                variance += (x[at + i] - mean) * (x[at + i] - mean) / static_cast<double>(columns);
            for (size_t i = 0; i < columns; ++i)
                y[at + i] =
                    static_cast<float>((x[at + i] - mean) / std::sqrt(variance + eps) * static_cast<double>(factor[i]) +
                                       static_cast<double>(added[i]));
        }
    });
}

model::Weight projected_rows(const model::Weight &table, const model::Weight &weight,
                             const std::optional<model::Weight> &bias) {
    const int64_t outputs = weight.type.shape.at(0);
    std::vector<model::Weight> parts{table, weight};
    if (bias) parts.push_back(*bias);
    return model::Weight::made_of({DType::f32, {table.type.shape.at(0), outputs}}, std::move(parts),
                                  [=](std::span<std::byte> out) {
                                      const std::vector<float> added =
                                          bias ? numbers_of(*bias) : std::vector<float>(static_cast<size_t>(outputs));
                                      multiply(numbers_of(table), numbers_of(weight), added, floats(out));
                                  });
}

model::Weight made_of_values(const Shape &shape, const std::vector<model::Weight> &parts,
                             std::function<void(const ValuesOf &parts, std::span<float> to)> fill) {
    return model::Weight::made_of({DType::f32, shape}, parts,
                                  [parts, fill = std::move(fill)](std::span<std::byte> out) {
                                      std::vector<std::vector<float>> values;
                                      for (const model::Weight &part : parts) values.push_back(numbers_of(part));
                                      std::ranges::fill(floats(out), 0.0F);
                                      fill({values.begin(), values.end()}, floats(out));
                                  });
}

} // namespace lamina::architectures
