#include "vectors.hpp"

#include "table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace lamina::cli {
namespace {

constexpr size_t shown_numbers = 4; // of a vector
constexpr size_t shown_pairs = 12;  // texts in the table of pairs
constexpr size_t shown_words = 8;   // of a sparse vector

} // namespace

double product(std::span<const float> a, std::span<const float> b) {
    double out = 0;
    for (size_t i = 0; i < a.size(); ++i) out += static_cast<double>(a[i]) * b[i];
    return out;
}

double cosine(std::span<const float> a, std::span<const float> b) {
    return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

Likeness likeness(bool sparse) { return sparse ? Likeness{"PRODUCT", product} : Likeness{"COSINE", cosine}; }

std::span<const float> row_of(const Tensor &vectors, size_t i) {
    const auto width = static_cast<size_t>(vectors.shape()[1]);
    return vectors.f32().subspan(i * width, width);
}

std::string vectors_as_text(const std::string &title, const std::vector<std::string> &names, const Tensor &vectors,
                            const Output &output) {
    Table table({{"", Align::right}, text_column(title), "VECTOR"});
    for (size_t i = 0; i < names.size(); ++i) {
        const auto row = row_of(vectors, i);
        std::string numbers;
        for (const float value : row.first(std::min(shown_numbers, row.size()))) numbers += significant(value, 4) + " ";
        table.row(
            {std::to_string(i + 1), {names[i], Style::bold}, numbers + "... (" + std::to_string(row.size()) + ")"});
    }
    return table.str(output);
}

std::string likeness_as_text(const Tensor &vectors, const Likeness &likeness, const Output &output) {
    const auto count = static_cast<size_t>(vectors.shape()[0]);
    if (count < 2 || count > shown_pairs) return "";
    std::vector<Column> columns{{likeness.title, Align::right}};
    for (size_t i = 0; i < count; ++i) columns.emplace_back(std::to_string(i + 1), Align::right);
    Table table(std::move(columns));
    for (size_t i = 0; i < count; ++i) {
        std::vector<Cell> cells{std::to_string(i + 1)};
        for (size_t j = 0; j < count; ++j)
            cells.emplace_back(fixed(likeness.of(row_of(vectors, i), row_of(vectors, j))));
        table.row(std::move(cells));
    }
    return "\n" + table.str(output);
}

std::vector<WordScore> words_of(std::span<const float> vector, const std::vector<TokenText> &tokens) {
    std::vector<WordScore> out;
    for (size_t id = 0; id < vector.size(); ++id)
        if (vector[id] != 0) // a matrix may have more rows than the tokenizer has tokens
            out.push_back(
                {id < tokens.size() ? tokens[id].entry : std::string(), static_cast<int32_t>(id), vector[id]});
    std::ranges::stable_sort(out, std::ranges::greater{}, &WordScore::score);
    return out;
}

std::string words_as_text(const std::vector<WordScore> &words) {
    std::string out;
    for (const WordScore &each : std::span(words).first(std::min(shown_words, words.size())))
        out += each.word + " " + fixed(each.score) + ", ";
    return out + (words.size() > shown_words ? "... " : "") + "(" + std::to_string(words.size()) + ")";
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
