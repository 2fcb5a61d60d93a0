#include "generation/alignment.hpp"

#include "generation/encoded.hpp"
#include "generation/generation_shapes.hpp"
#include "model/place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::generation {
namespace {

// What one head of an attention attends to: softmax(q k / sqrt(D)), without what is behind the audio.
class Head {
  public:
    Head(const model::Alignment::Head &head, const Tensor &queries, const Tensor &keys)
        : channels_(static_cast<size_t>(keys.shape()[2])), width_(channels_ / static_cast<size_t>(head.heads)),
          first_(static_cast<size_t>(head.head) * width_), queries_(queries.f32()), keys_(keys.f32()),
          all_(static_cast<size_t>(keys.shape()[1])) {}

    // Of a row of the queries; `out` may have fewer positions than the keys.
    void attend(size_t row, std::span<double> out) {
        const std::span<const float> q = queries_.subspan(row * channels_ + first_, width_);
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (size_t s = 0; s < all_.size(); ++s) {
            const std::span<const float> k = keys_.subspan(s * channels_ + first_, width_);
            double score = 0;
            for (size_t i = 0; i < width_; ++i) score += double{q[i]} * double{k[i]};
            most = std::max(most, all_[s] = score / std::sqrt(static_cast<double>(width_)));
        }
        for (double &each : all_) sum += each = std::exp(each - most);
        for (size_t s = 0; s < out.size(); ++s) out[s] = all_[s] / sum;
    }

  private:
    size_t channels_, width_, first_;
    std::span<const float> queries_, keys_;
    std::vector<double> all_; // positions
};

// Subtracts the mean of each column, and divides by its deviation.
void normalize_columns(std::span<double> values, size_t columns) {
    const size_t rows = values.size() / columns;
    for (size_t c = 0; c < columns; ++c) {
        double sum = 0, squares = 0;
        for (size_t r = 0; r < rows; ++r) sum += values[r * columns + c];
        const double mean = sum / static_cast<double>(rows);
        for (size_t r = 0; r < rows; ++r) squares += std::pow(values[r * columns + c] - mean, 2);
        const double deviation = std::sqrt(squares / static_cast<double>(rows));
        for (size_t r = 0; r < rows; ++r) {
            double &value = values[r * columns + c];
            value = deviation == 0 ? 0 : (value - mean) / deviation;
        }
    }
}

// Of the whole text, its beginning included, in one sequence.
TensorMap queries_of(detail::SessionState &session, const model::Alignment &alignment, Ids ids,
                     const TensorMap &given) {
    const model::Generation &g = *session.model->generation;
    const int64_t length = std::min(rounded_length(ids.size()), g.positions);
    ids.resize(static_cast<size_t>(length), ids.back()); // nothing sees what is behind it
    TensorMap inputs{{g.target_ids, Tensor::of({1, length}, ids)}, {g.position, Tensor::of({1}, Ids{0})}};
    for (const model::GraphInput &input : session.model->graphs.at(alignment.graph).inputs)
        if (const auto found = given.find(input.name); found != given.end()) inputs.insert(*found);
    return session.surviving_loss([&] { return session.run(alignment.graph, inputs); });
}

} // namespace

std::vector<size_t> warped(std::span<const double> attended, size_t rows) {
    const size_t positions = attended.size() / rows, wide = positions + 1;
    enum Step : uint8_t { both, row, position };
    std::vector<double> cost((rows + 1) * wide, std::numeric_limits<double>::infinity());
    std::vector<Step> steps((rows + 1) * wide, row);
    std::fill_n(steps.begin(), wide, position);
    cost[0] = 0;
    for (size_t j = 1; j <= positions; ++j)
        for (size_t i = 1; i <= rows; ++i) {
            const double diagonal = cost[(i - 1) * wide + j - 1], up = cost[(i - 1) * wide + j],
                         left = cost[i * wide + j - 1];
            const bool is_both = diagonal < up && diagonal < left, is_row = up < diagonal && up < left;
            steps[i * wide + j] = is_both ? both : is_row ? row : position;
            cost[i * wide + j] = (is_both ? diagonal : is_row ? up : left) - attended[(i - 1) * positions + j - 1];
        }
    std::vector<size_t> begins(rows);
    for (size_t i = rows, j = positions; i > 0 || j > 0;) {
        if (i > 0) begins[i - 1] = j == 0 ? 0 : j - 1; // the last that is written is the first on the path
        const Step step = steps[i * wide + j];
        if (step != position) --i;
        if (step != row) --j;
    }
    return begins;
}

void smooth(std::span<double> values, size_t width) {
    const size_t half = width / 2;
    if (values.size() <= half) return;
    const std::vector<double> before(values.begin(), values.end());
    std::vector<double> around(width);
    const auto reflected = [&](size_t at) { // counted from `half` before the first
        const size_t last = before.size() - 1, place = at < half ? half - at : at - half;
        return before[place > last ? 2 * last - place : place];
    };
    for (size_t i = 0; i < values.size(); ++i) {
        for (size_t w = 0; w < width; ++w) around[w] = reflected(i + w);
        std::ranges::nth_element(around, around.begin() + static_cast<ptrdiff_t>(half));
        values[i] = around[half];
    }
}

void expect_head(const model::Model &model, const model::Alignment::Head &head, const Shape &queries,
                 const Shape &keys) {
    if (queries.size() == 3 && keys.size() == 3 && queries[2] == keys[2] && keys[2] % head.heads == 0) return;
    throw Error(ErrorCode::input, model::place_in(model, "/generation/alignment/heads") + ": expected '" +
                                      head.queries + "' and '" + head.keys + "' to have the same channels, of " +
                                      std::to_string(head.heads) + " heads, found " + to_string(queries) + " and " +
                                      to_string(keys));
}

void find_ends(detail::SessionState &session, const TensorMap &encoded, size_t row, size_t samples,
               Hypothesis &hypothesis) {
    const model::Model &model = *session.model;
    const model::Alignment &alignment = *model.generation->alignment;
    const double step = model.tokens.timestamps->step;
    hypothesis.ends.assign(hypothesis.tokens.size(), 0);
    if (hypothesis.tokens.empty()) return;
    // Of a text that was cut off, transformers never gives the decoder the last token, which ends like the one before.
    const size_t rows = hypothesis.tokens.size() - (hypothesis.finish == Finish::end ? 0 : 1);
    if (rows == 0) return;
    Ids ids = hypothesis.start;
    const size_t first = ids.size();
    ids.insert(ids.end(), hypothesis.tokens.begin(), hypothesis.tokens.begin() + static_cast<ptrdiff_t>(rows));
    const TensorMap given = encoded_row(model, encoded, row);
    const TensorMap queries = queries_of(session, alignment, std::move(ids), given);

    const double per_position = step * static_cast<double>(model.generation->audio->rate); // samples
    const auto heard = static_cast<size_t>((static_cast<double>(samples) + per_position / 2 - 1) / per_position);
    size_t positions = heard;
    for (const model::Alignment::Head &each : alignment.heads) { // of a model folder, keys may differ in length
        const Shape &q = queries.at(each.queries).shape(), &k = given.at(each.keys).shape();
        expect_head(model, each, q, k);
        positions = std::min(positions, static_cast<size_t>(k[1]));
        if (static_cast<size_t>(q[1]) < first + rows)
            throw Error(ErrorCode::input, model::place_in(model, "/generation/alignment/heads") + ": expected '" +
                                              each.queries + "' to have a row for each id, found " + to_string(q) +
                                              " for " + std::to_string(first + rows) + " ids");
    }
    if (positions == 0) return;
    std::vector<double> sum(rows * positions), attended(rows * positions);
    for (const model::Alignment::Head &each : alignment.heads) {
        Head head(each, queries.at(each.queries), given.at(each.keys));
        const auto of = [&](size_t r) { return std::span(attended).subspan(r * positions, positions); };
        for (size_t r = 0; r < rows; ++r) head.attend(first + r, of(r));
        normalize_columns(attended, positions);
        for (size_t r = 0; r < rows; ++r) smooth(of(r), static_cast<size_t>(alignment.median));
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += attended[i] / static_cast<double>(alignment.heads.size());
    }
    // From a token the decoder finds the next one, and attends to where that is spoken: there the token itself ends.
    const std::vector<size_t> begins = warped(sum, rows);
    for (size_t i = 0; i < hypothesis.ends.size(); ++i)
        hypothesis.ends[i] = static_cast<double>(begins[std::min(i, rows - 1)]) * step;
}

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD", ascii_marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
                           marks_before = "\"'“¡¿([{-", marks_behind = "\"'.。,，!！?？:：”)]}、";

std::string_view stripped(std::string_view text) {
    constexpr const char *blanks = " \t\n\r\f\v";
    const size_t first = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

bool is_among(std::string_view text, std::string_view marks) { return marks.find(text) != std::string_view::npos; }

// Of whole characters: a token may have only a part of one.
std::vector<Word> pieces_of(const model::TextCodec &codec, std::span<const int32_t> tokens) {
    std::vector<Word> out;
    const std::string whole = codec.decode(tokens, false);
    size_t done = 0; // bytes
    for (size_t first = 0, i = 0; i < tokens.size(); ++i) {
        const std::string text = codec.decode(tokens.subspan(first, i + 1 - first), false);
        const size_t cut = text.find(replacement);
        const bool is_whole = cut == std::string::npos || done + cut >= whole.size() ||
                              std::string_view(whole).substr(done + cut).starts_with(replacement);
        if (!is_whole) continue;
        out.push_back({text, first, i + 1});
        done += text.size(), first = i + 1;
    }
    return out;
}

// Moves the second behind the first.
void append(Word &to, Word &from) {
    to.text += from.text, to.end = from.end;
    from = {"", from.end, from.end};
}

} // namespace

std::vector<Word> words_among(const model::TextCodec &codec, std::span<const int32_t> tokens, bool blanks) {
    std::vector<Word> out;
    for (Word &piece : pieces_of(codec, tokens)) {
        const bool begins =
            !blanks || out.empty() || piece.text.starts_with(' ') || is_among(stripped(piece.text), ascii_marks);
        begins ? out.push_back(std::move(piece)) : append(out.back(), piece);
    }
    for (size_t i = out.size(); i-- > 1;) { // marks before words, the last first
        Word &before = out[i - 1];
        size_t next = i;
        while (next < out.size() && out[next].text.empty()) ++next;
        if (next == out.size() || !before.text.starts_with(' ') || !is_among(stripped(before.text), marks_before))
            continue;
        out[next].text = before.text + out[next].text, out[next].begin = before.begin;
        before.text.clear();
    }
    std::erase_if(out, [](const Word &word) { return word.text.empty(); });
    for (size_t to = 0, i = 1; i < out.size(); ++i)
        if (!out[to].text.ends_with(' ') && is_among(out[i].text, marks_behind))
            append(out[to], out[i]);
        else
            to = i;
    std::erase_if(out, [](const Word &word) { return word.text.empty(); });
    return out;
}

} // namespace lamina::generation
