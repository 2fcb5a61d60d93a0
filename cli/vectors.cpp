#include "vectors.hpp"

#include "table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace lamina::cli {
namespace {

constexpr size_t shown_numbers = 4;  // of a vector
constexpr size_t shown_cosines = 12; // texts in the table of pairs

} // namespace

double cosine(std::span<const float> a, std::span<const float> b) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        ab += static_cast<double>(a[i]) * b[i];
        aa += static_cast<double>(a[i]) * a[i];
        bb += static_cast<double>(b[i]) * b[i];
    }
    return ab / std::sqrt(aa * bb);
}

std::span<const float> row_of(const Tensor &vectors, size_t i) {
    const auto width = static_cast<size_t>(vectors.shape()[1]);
    return vectors.f32().subspan(i * width, width);
}

std::string vectors_as_text(const std::string &title, const std::vector<std::string> &names, const Tensor &vectors,
                            const Output &output) {
    Table table({{"", Align::right}, title, "VECTOR"});
    for (size_t i = 0; i < names.size(); ++i) {
        const auto row = row_of(vectors, i);
        std::string numbers;
        for (const float value : row.first(std::min(shown_numbers, row.size()))) numbers += significant(value, 4) + " ";
        table.row(
            {std::to_string(i + 1), {names[i], Style::bold}, numbers + "... (" + std::to_string(row.size()) + ")"});
    }
    return table.str(output);
}

std::string cosines_as_text(const Tensor &vectors, const Output &output) {
    const auto count = static_cast<size_t>(vectors.shape()[0]);
    if (count < 2 || count > shown_cosines) return "";
    std::vector<Column> columns{{"COSINE", Align::right}};
    for (size_t i = 0; i < count; ++i) columns.emplace_back(std::to_string(i + 1), Align::right);
    Table table(std::move(columns));
    for (size_t i = 0; i < count; ++i) {
        std::vector<Cell> cells{std::to_string(i + 1)};
        for (size_t j = 0; j < count; ++j) cells.emplace_back(fixed(cosine(row_of(vectors, i), row_of(vectors, j))));
        table.row(std::move(cells));
    }
    return "\n" + table.str(output);
}

std::string fixed(double value) { // "-0.008"
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3f", value);
    return text.data();
}

Json labels_as_json(const std::vector<LabelScore> &labels) {
    Json out = Json::array();
    for (const LabelScore &each : labels) out.push_back({{"label", each.label}, {"score", each.score}});
    return out;
}

std::string labels_as_text(const std::vector<LabelScore> &labels, size_t most) {
    std::string out;
    for (const LabelScore &each : std::span(labels).first(std::min(most, labels.size())))
        out += (out.empty() ? "" : ", ") + each.label + " " + fixed(each.score);
    return out;
}

} // namespace lamina::cli
