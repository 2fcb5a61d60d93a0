#include "model/quantized_layouts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace lamina::model {
namespace {

using Integers = std::function<void(int64_t row, int64_t column, std::span<int16_t> out)>;
using Zeros = std::function<int(int64_t group, int64_t row)>;

// Which group each column is of.
struct ColumnGroups {
    int64_t size = 1, count = 1;
    std::vector<int32_t> of_column{}; // empty: `size` after each other
    [[nodiscard]] int64_t operator()(int64_t column) const {
        return of_column.empty() ? column / size : of_column[static_cast<size_t>(column)];
    }
};

int64_t groups_of(int64_t columns, GroupSize size) { return size <= 0 ? 1 : (columns + size - 1) / size; }

// Groups in the order of a list of them, if the file has one.
ColumnGroups column_groups(const Weights &weights, const std::string &list, int64_t columns, GroupSize size) {
    ColumnGroups out{size <= 0 ? columns : size, groups_of(columns, size)};
    if (!has_stored(weights, list)) return out;
    const StoredTensor stored = stored_at(weights, list, {"I32"}, {columns});
    std::vector<int32_t> groups(static_cast<size_t>(columns));
    std::memcpy(groups.data(), stored.weight.bytes().data(), groups.size() * sizeof groups[0]);
    if (std::ranges::all_of(groups, [](int32_t group) { return group == -1; }))
        return out; // compressed-tensors: no list
    bool in_order = true;
    for (size_t column = 0; column < groups.size(); ++column) {
        const int64_t group = groups[column];
        if (group < 0 || group >= out.count)
            refuse_stored(weights, list,
                          "column " + std::to_string(column) + ": expected a group from 0 to " +
                              std::to_string(out.count - 1) + ", found " + std::to_string(group));
        in_order = in_order && group == static_cast<int64_t>(column) / out.size;
    }
    if (!in_order) out.of_column = std::move(groups);
    return out;
}

// The least and the greatest of all zeros.
std::pair<int, int> bounds_of(const Zeros &zeros, int64_t groups, int64_t rows) {
    std::pair<int, int> out{zeros(0, 0), zeros(0, 0)};
    for (int64_t group = 0; group < groups; ++group)
        for (int64_t row = 0; row < rows; ++row) {
            const int zero = zeros(group, row);
            out.first = std::min(out.first, zero), out.second = std::max(out.second, zero);
        }
    return out;
}

struct Layout {
    int64_t rows, columns;
    int lowest, highest; // before zeros are subtracted
    ColumnGroups groups;
    Integers integers; // of a row, from a column on
    Zeros zeros;       // none: 0
    std::function<int64_t(int64_t group, int64_t row)> scale_at;
};

QuantizedMatrix matrix_of(const Layout &layout, const Scales &scales, std::vector<Weight> parts) {
    QuantizedMatrix out{.rows = layout.rows,
                        .columns = layout.columns,
                        .group = layout.groups.of_column.empty() ? layout.groups.size : 1,
                        .lowest = layout.lowest,
                        .highest = layout.highest,
                        .scale_dtype = scales.dtype(),
                        .half_scales = scales.all_half(),
                        .parts = std::move(parts)};
    if (layout.groups.of_column.empty() && layout.groups.count == 1) out.group = layout.columns;
    if (layout.zeros && layout.rows > 0 && layout.groups.count > 0) {
        const auto [least, greatest] = bounds_of(layout.zeros, layout.groups.count, layout.rows);
        out.lowest -= greatest, out.highest -= least;
    }
    out.parts.push_back(scales.weight());
    out.integers = [layout](int64_t row, int64_t column, std::span<int16_t> integers) {
        layout.integers(row, column, integers);
        if (!layout.zeros) return;
        int64_t group = -1;
        int zero = 0;
        for (size_t i = 0; i < integers.size(); ++i) {
            if (const int64_t next = layout.groups(column + static_cast<int64_t>(i)); next != group)
                zero = layout.zeros(group = next, row);
            integers[i] = static_cast<int16_t>(integers[i] - zero);
        }
    };
    out.scales = [layout, scales](int64_t row, int64_t column, std::span<float> factors) {
        for (size_t i = 0; i < factors.size(); ++i)
            factors[i] = scales[layout.scale_at(layout.groups(column + static_cast<int64_t>(i)), row)];
    };
    return out;
}

// What is packed along the first axis of a matrix of words, at this place of the second; or along the second one.
int down(const Weight &words, int64_t second, int bits, int64_t i, int64_t other) {
    return static_cast<int>(packed_integer(words.bytes(), static_cast<size_t>(other), static_cast<size_t>(second),
                                           static_cast<uint64_t>(i), bits));
}
int across(const Weight &words, int64_t second, int bits, int64_t first, int64_t i) {
    return static_cast<int>(
        packed_integer(words.bytes(), static_cast<size_t>(first * second), 1, static_cast<uint64_t>(i), bits));
}

// The integers of columns from `column` on, where at(column) is one.
template <class At> void fill(std::span<int16_t> out, int64_t column, const At &at) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int16_t>(at(column + static_cast<int64_t>(i)));
}

// The size of axis `axis` of a matrix of this name. Throws unless it is a matrix.
int64_t axis_of(const Weights &weights, const std::string &name, size_t axis) {
    const StoredTensor stored = stored_at(weights, name);
    if (stored.shape.size() != 2 || stored.shape[axis] > INT32_MAX)
        refuse_stored(weights, name, "expected a matrix, found the shape " + to_string(stored.shape));
    return stored.shape[axis];
}

// Scales (rows, groups) of compressed-tensors, which may be one for each row or for all.
struct RowScales {
    Scales scales;
    GroupSize group;
    bool one;
};
RowScales row_scales(const Weights &weights, const std::string &name, int64_t rows, int64_t columns,
                     const std::vector<GroupSize> &groups) {
    const StoredTensor stored = stored_at(weights, name);
    const bool one = element_count(stored.shape) == 1;
    Shape expected = one || stored.shape == Shape{rows} ? stored.shape : Shape{rows, 1};
    GroupSize group = -1;
    for (const GroupSize each : groups)
        if (!one && stored.shape != expected && stored.shape == Shape{rows, groups_of(columns, each)})
            group = each, expected = stored.shape;
    return {Scales(stored_at(weights, name, {"F16", "BF16", "F32"}, expected)), group, one};
}

} // namespace

QuantizedMatrix gptq_matrix(const Weights &weights, const std::string &module, const Gptq &settings) {
    const int bits = settings.bits;
    const std::string list = module + ".g_idx", qweight = module + ".qweight";
    const int64_t rows = axis_of(weights, qweight, 1), words = axis_of(weights, qweight, 0);
    const int64_t columns = words * 32 / bits;
    const ColumnGroups groups = column_groups(weights, list, columns, settings.group);
    const StoredTensor integers = stored_at(weights, qweight, {"I32"}, {(columns * bits + 31) / 32, rows}),
                       zeros = stored_at(weights, module + ".qzeros", {"I32"}, {groups.count, (rows * bits + 31) / 32});
    const Scales scales(stored_at(weights, module + ".scales", {"F16", "BF16", "F32"}, {groups.count, rows}));
    const int most = (1 << bits) - 1, more = settings.zeros_less_one ? 1 : 0;
    const auto integers_of = [words = integers.weight, rows, bits](int64_t row, int64_t column,
                                                                   std::span<int16_t> out) {
        fill(out, column, [&](int64_t i) { return down(words, rows, bits, i, row); });
    };
    const auto zero_of = [=, words = zeros.weight, wide = zeros.shape[1]](int64_t group, int64_t row) {
        return (across(words, wide, bits, group, row) + more) & most;
    };
    const auto scale_at = [rows](int64_t group, int64_t row) { return group * rows + row; };
    return matrix_of({rows, columns, 0, most, groups, integers_of, zero_of, scale_at}, scales,
                     {integers.weight, zeros.weight});
}

QuantizedMatrix awq_matrix(const Weights &weights, const std::string &module, GroupSize group) {
    constexpr int64_t in_word = 8;
    constexpr int bits = 4, most = 15;
    const std::string qweight = module + ".qweight";
    const int64_t columns = axis_of(weights, qweight, 0), words = axis_of(weights, qweight, 1), rows = words * in_word;
    const ColumnGroups groups{group <= 0 ? columns : group, groups_of(columns, group)};
    const StoredTensor integers = stored_at(weights, qweight, {"I32"}, {columns, words}),
                       zeros = stored_at(weights, module + ".qzeros", {"I32"}, {groups.count, words});
    const Scales scales(stored_at(weights, module + ".scales", {"F16", "BF16", "F32"}, {groups.count, rows}));
    const auto at = [words](const Weight &packed, int64_t line, int64_t row) {
        constexpr std::array<int64_t, 8> place{0, 4, 1, 5, 2, 6, 3, 7}; // of each column within a word
        return across(packed, words, bits, line,
                      row / in_word * in_word + place.at(static_cast<size_t>(row % in_word)));
    };
    const auto integers_of = [=, packed = integers.weight](int64_t row, int64_t column, std::span<int16_t> out) {
        fill(out, column, [&](int64_t i) { return at(packed, i, row); });
    };
    const auto zero_of = [=, packed = zeros.weight](int64_t of, int64_t row) { return at(packed, of, row); };
    const auto scale_at = [rows](int64_t of, int64_t row) { return of * rows + row; };
    return matrix_of({rows, columns, 0, most, groups, integers_of, zero_of, scale_at}, scales,
                     {integers.weight, zeros.weight});
}

QuantizedMatrix packed_matrix(const Weights &weights, const std::string &module, const PackedGroups &settings) {
    const std::string name = module + ".weight_packed", shape_name = module + ".weight_shape",
                      zero_name = module + ".weight_zero_point";
    const StoredTensor shape = stored_at(weights, shape_name);
    std::array<int64_t, 2> sizes{};
    if (shape.dtype == "I64" && shape.shape == Shape{2}) {
        std::memcpy(sizes.data(), shape.weight.bytes().data(), sizeof sizes);
    } else {
        const StoredTensor narrow = stored_at(weights, shape_name, {"I64", "I32"}, {2});
        std::array<int32_t, 2> of_32{};
        std::memcpy(of_32.data(), narrow.weight.bytes().data(), sizeof of_32);
        sizes = {of_32[0], of_32[1]};
    }
    const auto [rows, columns] = sizes;
    if (rows < 0 || columns < 0 || rows > INT32_MAX || columns > INT32_MAX)
        refuse_stored(weights, shape_name, "expected the sizes of a matrix, found " + to_string({rows, columns}));
    const int64_t words = axis_of(weights, name, 1);
    const auto fits = [columns = columns, words](int each) { return (columns * each + 31) / 32 == words; };
    const auto found = std::ranges::find_if(settings.bits, fits);
    if (found == settings.bits.end())
        refuse_stored(weights, name,
                      std::to_string(words) + " words in a row are not " + std::to_string(columns) +
                          " values of as many bits as quantization_config says");
    const int each = *found, half = 1 << (each - 1);
    const StoredTensor integers = stored_at(weights, name, {"I32"}, {rows, words});
    const RowScales scales = row_scales(weights, module + ".weight_scale", rows, columns, settings.groups);
    const ColumnGroups groups = column_groups(weights, module + ".weight_g_idx", columns, scales.group);
    std::vector<Weight> parts{integers.weight};
    const auto integers_of = [=, packed = integers.weight](int64_t row, int64_t column, std::span<int16_t> out) {
        fill(out, column, [&](int64_t i) { return across(packed, words, each, row, i) - half; });
    };
    const auto scale_at = [one = scales.one, count = groups.count](int64_t of, int64_t row) {
        return one ? 0 : row * count + of;
    };
    Layout layout{rows, columns, -half, half - 1, groups, integers_of, {}, scale_at};
    if (has_stored(weights, zero_name)) {
        const StoredTensor zeros = stored_at(weights, zero_name, {"I32"}, {(rows * each + 31) / 32, groups.count});
        layout.zeros = [=, count = groups.count, packed = zeros.weight](int64_t of, int64_t row) {
            return down(packed, count, each, row, of) - half;
        };
        parts.push_back(zeros.weight);
    }
    return matrix_of(layout, scales.scales, std::move(parts));
}

QuantizedMatrix byte_matrix(const Weights &weights, const std::string &module, const PackedGroups &settings) {
    const std::string name = module + ".weight", zero_name = module + ".weight_zero_point";
    const int64_t rows = axis_of(weights, name, 0), columns = axis_of(weights, name, 1);
    const StoredTensor integers = stored_at(weights, name, {"I8"}, {rows, columns});
    const RowScales scales = row_scales(weights, module + ".weight_scale", rows, columns, settings.groups);
    const ColumnGroups groups = column_groups(weights, module + ".weight_g_idx", columns, scales.group);
    const auto byte_at = [](const Weight &bytes, int64_t i) {
        return static_cast<int>(static_cast<int8_t>(bytes.bytes()[static_cast<size_t>(i)]));
    };
    const auto place = [one = scales.one, count = groups.count](int64_t of, int64_t row) {
        return one ? 0 : row * count + of;
    };
    std::vector<Weight> parts{integers.weight};
    const auto integers_of = [=, bytes = integers.weight, columns = columns](int64_t row, int64_t column,
                                                                             std::span<int16_t> out) {
        fill(out, column, [&](int64_t i) { return byte_at(bytes, row * columns + i); });
    };
    Layout layout{rows, columns, -128, 127, groups, integers_of, {}, place};
    if (has_stored(weights, zero_name)) {
        const StoredTensor zeros =
            stored_at(weights, zero_name, {"I8"}, stored_at(weights, module + ".weight_scale").shape);
        layout.zeros = [=](int64_t of, int64_t row) { return byte_at(zeros.weight, place(of, row)); };
        parts.push_back(zeros.weight);
    }
    return matrix_of(layout, scales.scales, std::move(parts));
}

} // namespace lamina::model
