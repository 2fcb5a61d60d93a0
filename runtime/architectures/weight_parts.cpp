#include "architectures/weight_parts.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace lamina::architectures {
namespace {

int64_t size_of_part(int64_t size, int64_t parts) {
    if (size % parts == 0) return size / parts;
    throw Error(ErrorCode::input, "an axis of " + std::to_string(size) + " cannot be split into " +
                                      std::to_string(parts) + " equal parts");
}

// f(value) of every value, as f32.
template <class F> model::Weight of_values(const model::Weight &weight, const F &f) {
    const auto &storage = storage_of(weight.type.dtype);
    Tensor out(TensorType{DType::f32, weight.type.shape});
    storage.widen(weight.bytes().data(), element_count(weight.type.shape) / storage.block_values, out.f32().data());
    for (float &value : out.f32()) value = static_cast<float>(f(value));
    return model::Weight::of(std::move(out));
}

// Columns `first`, first + step and so on, as many as `rows`.
model::Weight transposed(const model::Weight &stack, int64_t first, int64_t step, int64_t rows) {
    const Shape &shape = stack.type.shape;
    const auto &storage = storage_of(stack.type.dtype);
    const int64_t inner = shape[1], columns = shape[2];
    const bool blocks = storage.block_values != 1;
    const auto value = blocks ? sizeof(float) : static_cast<size_t>(storage.block_bytes);
    const DType dtype = blocks ? DType::f32 : stack.type.dtype;
    return model::Weight::made_of({dtype, {shape[0], rows, inner}}, {stack}, [=](std::span<std::byte> out) {
        constexpr int64_t tile = 64; // rows at a time, so that what is read and written stays in caches
        const std::byte *from = stack.bytes().data();
        std::vector<float> widened;
        if (blocks) {
            const auto &stored = storage_of(stack.type.dtype);
            widened.resize(static_cast<size_t>(element_count(shape)));
            stored.widen(from, element_count(shape) / stored.block_values, widened.data());
            from = reinterpret_cast<const std::byte *>(widened.data());
        }
        for (int64_t e = 0; e < shape[0]; ++e)
            for (int64_t begin = 0; begin < rows; begin += tile)
                for (int64_t k = 0; k < inner; ++k)
                    for (int64_t r = begin; r < std::min(begin + tile, rows); ++r)
                        std::memcpy(out.data() + static_cast<size_t>((e * rows + r) * inner + k) * value,
                                    from + static_cast<size_t>((e * inner + k) * columns + first + r * step) * value,
                                    value);
    });
}

void require_matrices(const model::Weight &stack) {
    if (stack.type.shape.size() != 3)
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(stack.type.shape) + " and dtype " +
                                          name_of(stack.type.dtype) + " cannot be transposed; expected matrices");
}

} // namespace

model::Weight transposed_columns(const model::Weight &matrix, int64_t part, int64_t parts) {
    const Shape &shape = matrix.type.shape;
    const auto &storage = storage_of(matrix.type.dtype);
    if (shape.size() != 2 || storage.block_values != 1)
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(shape) + " and dtype " +
                                          name_of(matrix.type.dtype) + " cannot be transposed; expected a matrix");
    const int64_t columns = size_of_part(shape[1], parts), rows = shape[0];
    const auto value = static_cast<size_t>(storage.block_bytes);
    Tensor out(TensorType{matrix.type.dtype, {columns, rows}});
    std::byte *to = out.bytes().data();
    for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r, to += value)
            std::memcpy(to, matrix.bytes().data() + static_cast<size_t>(r * shape[1] + part * columns + c) * value,
                        value);
    return model::Weight::of(std::move(out));
}

model::Weight transposed_stack(const model::Weight &stack, int64_t first, int64_t step) {
    require_matrices(stack);
    return transposed(stack, first, step, size_of_part(stack.type.shape[2], step));
}

model::Weight transposed_part(const model::Weight &stack, int64_t part, int64_t parts) {
    require_matrices(stack);
    const int64_t rows = size_of_part(stack.type.shape[2], parts);
    return transposed(stack, part * rows, 1, rows);
}

model::Weight every(const model::Weight &rows, int64_t first, int64_t step) {
    const std::vector<float> all = numbers_of(rows);
    Shape shape = rows.type.shape;
    shape.back() = size_of_part(shape.back(), step);
    Tensor out(TensorType{DType::f32, shape});
    for (size_t i = 0; i < out.f32().size(); ++i)
        out.f32()[i] = all[static_cast<size_t>(first) + i * static_cast<size_t>(step)];
    return model::Weight::of(std::move(out));
}

model::Weight with_another_row(const model::Weight &table) {
    Shape shape = table.type.shape;
    ++shape.at(0);
    Tensor out(TensorType{DType::f32, shape}); // of zeros
    std::ranges::copy(numbers_of(table), out.f32().begin());
    return model::Weight::of(std::move(out));
}

model::Weight matrices_summed(const model::Weight &stack) {
    const Shape &shape = stack.type.shape;
    const std::vector<float> from = numbers_of(stack);
    const auto rows = static_cast<size_t>(shape.at(1)), columns = static_cast<size_t>(shape.at(2));
    Tensor out(TensorType{DType::f32, {shape.at(0), shape.at(2)}});
    for (size_t i = 0; i < out.f32().size(); ++i) {
        double sum = 0;
        for (size_t k = 0; k < rows; ++k) sum += from[(i / columns * rows + k) * columns + i % columns];
        out.f32()[i] = static_cast<float>(sum);
    }
    return model::Weight::of(std::move(out));
}

model::Weight part_of(const model::Weight &weight, int64_t part, int64_t parts) {
    const int64_t rows = size_of_part(weight.type.shape.empty() ? 0 : weight.type.shape.front(), parts);
    return weight.rows(part * rows, (part + 1) * rows);
}

model::Weight as_vector(model::Weight row) {
    Shape &shape = row.type.shape;
    if (shape.size() != 2 || shape[0] != 1)
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(shape) + ": expected a matrix of one row");
    shape.erase(shape.begin());
    return row;
}

std::vector<float> numbers_of(const model::Weight &weight) {
    const auto &storage = storage_of(weight.type.dtype);
    std::vector<float> out(static_cast<size_t>(element_count(weight.type.shape)));
    storage.widen(weight.bytes().data(), static_cast<int64_t>(out.size()) / storage.block_values, out.data());
    return out;
}

model::Weight scaled(const model::Weight &weight, double factor) {
    return of_values(weight, [&](double value) { return value * factor; });
}

model::Weight shifted(const model::Weight &weight, double summand) {
    return of_values(weight, [&](double value) { return value + summand; });
}

model::Weight logarithms(const model::Weight &weight) {
    return of_values(weight, [](double value) { return std::log(-value); });
}

model::Weight rows_scaled(const model::Weight &weight, const model::Weight &factors) {
    const int64_t rows = weight.type.shape.empty() ? 0 : weight.type.shape.front();
    if (factors.type.shape != Shape{rows})
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(factors.type.shape) + ": expected " +
                                          std::to_string(rows) + " factors, one for each row");
    const std::vector<float> factor = numbers_of(factors);
    const auto &storage = storage_of(weight.type.dtype);
    Tensor out(TensorType{DType::f32, weight.type.shape});
    storage.widen(weight.bytes().data(), out.size() / storage.block_values, out.f32().data());
    const size_t columns = rows == 0 ? 0 : out.f32().size() / factor.size();
    for (size_t i = 0; i < out.f32().size(); ++i) out.f32()[i] *= factor[i / columns];
    return model::Weight::of(std::move(out));
}

model::Weight row_added(const model::Weight &table, const model::Weight &rows) {
    if (table.type.shape.size() != 2 || rows.type.shape.size() != 2 || rows.type.shape[0] < 1 ||
        table.type.shape[1] != rows.type.shape[1])
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(rows.type.shape) +
                                          ": expected rows as long as in " + to_string(table.type.shape));
    const std::vector<float> row = numbers_of(rows.rows(0, 1)), values = numbers_of(table);
    Tensor out(TensorType{DType::f32, table.type.shape});
    for (size_t i = 0; i < values.size(); ++i) out.f32()[i] = values[i] + row[i % row.size()];
    return model::Weight::of(std::move(out));
}

model::Weight weight_norm(const model::Weight &directions, const model::Weight &lengths) {
    const std::vector<float> length = numbers_of(lengths), value = numbers_of(directions);
    const auto size = static_cast<size_t>(directions.type.shape.empty() ? 0 : directions.type.shape.back());
    if (size == 0 || length.size() != size)
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(lengths.type.shape) + ": expected " +
                                          std::to_string(size) + " lengths, one for each entry of the last axis");
    std::vector<double> squares(size);
    for (size_t i = 0; i < value.size(); ++i) squares[i % size] += double{value[i]} * value[i];
    Tensor out(TensorType{DType::f32, directions.type.shape});
    for (size_t i = 0; i < value.size(); ++i)
        out.f32()[i] = static_cast<float>(value[i] * (length[i % size] / std::sqrt(squares[i % size])));
    return model::Weight::of(std::move(out));
}

} // namespace lamina::architectures
