#include "model/low_rank.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"

#include <algorithm>
#include <cstring>

namespace lamina::model {
namespace {

// The values row by row, as f32, which has those of every dtype.
std::vector<float> wide(const NarrowMatrix &matrix) {
    const plugin::StorageType &storage = storage_of(matrix.weight.type.dtype);
    const auto rows = static_cast<size_t>(matrix.rows()), columns = static_cast<size_t>(matrix.columns());
    std::vector<float> stored(rows * columns);
    storage.widen(matrix.weight.bytes().data(), static_cast<int64_t>(stored.size()), stored.data());
    if (!matrix.transposed) return stored;
    std::vector<float> out(stored.size());
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < columns; ++column) out[row * columns + column] = stored[column * rows + row];
    return out;
}

struct WideChange {
    std::vector<float> left, right;
    size_t rank;
    double scale;
};

} // namespace

Weight with_low_ranks(const Weight &matrix, const std::vector<LowRank> &changes) {
    std::vector<Weight> parts{matrix};
    for (const LowRank &change : changes) {
        parts.push_back(change.left.weight);
        parts.push_back(change.right.weight);
    }
    Weight whole = Weight::made_of({DType::f32, matrix.type.shape}, std::move(parts), [=](std::span<std::byte> out) {
        std::vector<WideChange> all;
        for (const LowRank &change : changes)
            all.push_back(
                {wide(change.left), wide(change.right), static_cast<size_t>(change.left.columns()), change.scale});
        const plugin::StorageType &storage = storage_of(matrix.type.dtype);
        const auto rows = static_cast<size_t>(matrix.type.shape[0]),
                   columns = static_cast<size_t>(matrix.type.shape[1]);
        const auto row_bytes = static_cast<size_t>(storage.row_bytes(matrix.type.shape[1]));
        const std::span<const std::byte> bytes = matrix.bytes();
        in_parallel(rows, cores(), [&](size_t row, size_t /*thread*/) {
            std::vector<float> values_of_row(columns);
            storage.widen(bytes.data() + row * row_bytes, matrix.type.shape[1] / storage.block_values,
                          values_of_row.data());
            std::vector<double> sums(values_of_row.begin(), values_of_row.end());
            for (const WideChange &change : all)
                for (size_t r = 0; r < change.rank; ++r) {
                    const double factor = change.scale * static_cast<double>(change.left[row * change.rank + r]);
                    const float *right = change.right.data() + r * columns;
                    for (size_t column = 0; column < columns; ++column)
                        sums[column] += factor * static_cast<double>(right[column]);
                }
            std::ranges::transform(sums, values_of_row.begin(), [](double sum) { return static_cast<float>(sum); });
            std::memcpy(out.data() + row * columns * sizeof(float), values_of_row.data(), columns * sizeof(float));
        });
    });
    whole.changed = std::make_shared<const LowRankSum>(LowRankSum{matrix, changes});
    return whole;
}

std::vector<Factors> factors_of(const Weight &weight) {
    std::vector<Factors> out;
    // A matrix that another adapter replaced is not the one that these would be beside.
    if (weight.changed == nullptr || weight.changed->matrix.changed != nullptr) return out;
    const Shape &whole = weight.changed->matrix.type.shape, &shape = weight.type.shape;
    if (shape.size() != 2 || shape[1] != whole.at(1)) return out;
    const auto columns = static_cast<size_t>(whole[1]);
    const size_t first = weight.first / (columns * sizeof(float)), rows = static_cast<size_t>(shape[0]);
    for (const auto &[left, right, scale] : weight.changed->changes) {
        const int64_t rank = left.columns();
        const auto write = [](std::span<std::byte> to, std::span<const float> values) {
            std::memcpy(to.data(), values.data(), values.size_bytes());
        };
        Weight down = right.weight;
        if (right.transposed)
            down = Weight::made_of({DType::f32, {rank, whole[1]}}, {right.weight},
                                   [=, matrix = right](std::span<std::byte> to) { write(to, wide(matrix)); });
        const size_t begin = first * static_cast<size_t>(rank), count = rows * static_cast<size_t>(rank);
        const auto scaled_rows = [=, matrix = left, factor = scale](std::span<std::byte> to) {
            std::vector<float> values = wide(matrix);
            for (float &value : values) value = static_cast<float>(factor * static_cast<double>(value));
            write(to, std::span(values).subspan(begin, count));
        };
        out.push_back({down, Weight::made_of({DType::f32, {shape[0], rank}}, {left.weight}, scaled_rows)});
    }
    return out;
}

} // namespace lamina::model
