#include "reading/token_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace lamina::reading {
namespace {

void insert(Encoding &text, size_t place, int32_t id) {
    const auto add = [place](auto &list, auto value) {
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), value);
    };
    add(text.ids, id);
    add(text.tokens, std::string());
    add(text.offsets, TextRange{});
    add(text.types, 0);
    add(text.special, true);
    add(text.words, -1);
}

// The greatest product of a vector with one of a document's; both (C). A document without vectors is worse than any.
double greatest_product(std::span<const float> vector, std::span<const float> document) {
    constexpr double worst = -1e9; // as in sentence-transformers (util/similarity.py)
    double greatest = document.empty() ? worst : -INFINITY;
    for (size_t first = 0; first < document.size(); first += vector.size()) {
        double sum = 0;
        for (size_t c = 0; c < vector.size(); ++c) sum += double{vector[c]} * document[first + c];
        greatest = std::max(greatest, sum);
    }
    return greatest;
}

double score_of(const Tensor &query, const Tensor &document, bool mean) {
    const auto rows = static_cast<size_t>(query.shape()[0]), width = static_cast<size_t>(query.shape()[1]);
    double sum = 0;
    for (size_t row = 0; row < rows; ++row)
        sum += greatest_product(query.f32().subspan(row * width, width), document.f32());
    return mean && rows != 0 ? sum / static_cast<double>(rows) : sum;
}

// Without those that are left out of the role.
Tensor counted(const Found &found, const std::vector<int32_t> &left_out) {
    const size_t width = found.values.size() / found.encoding.size();
    std::vector<float> values;
    for (size_t token = 0; token < found.encoding.size(); ++token) {
        if (std::ranges::find(left_out, found.encoding.ids[token]) != left_out.end()) continue;
        const auto row = std::span(found.values).subspan(token * width, width);
        values.insert(values.end(), row.begin(), row.end());
    }
    Tensor out(TensorType{DType::f32, {static_cast<int64_t>(values.size() / width), static_cast<int64_t>(width)}});
    std::ranges::copy(values, out.f32().begin());
    return out;
}

} // namespace

Encoding encode_as(const model::Reading &model, const model::Reading::Role &role, const std::string &text,
                   bool shorten) {
    Encoding out = model.tokenizer.encode(text);
    if (role.mark) {
        const auto own = std::ranges::find(out.special, false);
        const auto start = own == out.special.end() ? size_t{1} : static_cast<size_t>(own - out.special.begin());
        insert(out, std::min(start, out.size()), *role.mark);
    }
    const auto longest = static_cast<size_t>(role.longest);
    const bool has_fixed_length = role.fill && role.fill->length == role.longest; // for which longer texts are cut
    if (shorten || has_fixed_length)
        truncate(out, longest, static_cast<size_t>(std::ranges::count(out.special, false)), model.cut);
    if (const std::string why = why_not(out, longest, 0); !why.empty()) throw Error(ErrorCode::input, why);
    while (role.fill && out.size() < static_cast<size_t>(role.fill->length)) insert(out, out.size(), role.fill->id);
    return out;
}

std::vector<Tensor> token_vectors(detail::SessionState &session, const std::vector<std::string> &texts,
                                  const ReadOptions &options) {
    const model::Reading &model = reading_of(*session.model);
    const std::string name = options.prompt.value_or(model.default_prompt);
    const auto role = model.roles.find(name.empty() ? model.default_prompt : name);
    std::vector<Tensor> out;
    for (const Found &each : read(session, single(texts), options)) out.push_back(counted(each, role->second.left_out));
    return out;
}

std::vector<double> scores_of_pairs(detail::SessionState &session, const std::vector<TextPair> &pairs,
                                    const ReadOptions &options) {
    if (options.prompt || options.prompt_text)
        throw Error(ErrorCode::usage, "prompt: expected none, because queries and documents have those of the model");
    std::map<std::string, size_t> places;
    std::vector<std::string> queries, documents;
    for (const TextPair &pair : pairs) {
        if (places.try_emplace(pair.first, queries.size()).second) queries.push_back(pair.first);
        documents.push_back(pair.second);
    }
    ReadOptions how = options;
    how.prompt = "document";
    const std::vector<Tensor> second = token_vectors(session, documents, how);
    how.prompt = "query", how.progress = {};
    std::vector<Tensor> first;
    try {
        first = token_vectors(session, queries, how);
    } catch (const Error &e) { // which counts different queries
        throw Error(e.code(), "queries: " + std::string(e.what()));
    }
    std::vector<double> out;
    for (size_t i = 0; i < pairs.size(); ++i)
        out.push_back(score_of(first[places.at(pairs[i].first)], second[i], session.model->reading->mean_score));
    return out;
}

} // namespace lamina::reading
