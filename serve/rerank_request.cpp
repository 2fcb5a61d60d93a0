#include "rerank_request.hpp"

#include "fields.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace lamina::serve {
namespace {

constexpr size_t most_documents = 2048;   // as many as texts of other requests
constexpr size_t longest_query = 1 << 15; // bytes: it is read again with each document

// A text, or an object with one.
std::string document_at(const JsonView &value) {
    if (value.is_string()) return std::string(value.string());
    if (!value.is_object()) value.fail("expected a text, or {\"text\": ...}, found " + value.description());
    expect_fields(value, "Document");
    return std::string(value.at("text").string());
}

Json usage_of(size_t tokens) { return {{"prompt_tokens", tokens}, {"total_tokens", tokens}}; }

} // namespace

std::string query_of(const JsonView &value) {
    if (value.string().size() > longest_query)
        value.fail("expected at most " + std::to_string(longest_query) + " bytes, found " +
                   std::to_string(value.string().size()));
    return std::string(value.string());
}

RerankRequest rerank_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "RerankRequest");
    RerankRequest out;
    out.model = request.at("model").string();
    out.cut = truncation_of(request);
    out.query = query_of(request.at("query"));
    const JsonView documents = request.at("documents");
    if (!documents.is_list()) documents.fail("expected a list of texts, found " + documents.description());
    const size_t count = documents.items().size();
    if (count == 0) documents.fail("expected at least one text");
    if (count > most_documents)
        documents.fail("expected at most " + std::to_string(most_documents) + " texts, found " + std::to_string(count));
    for (const JsonView each : documents.items()) out.documents.push_back(document_at(each));
    out.most = count;
    if (request.has("top_n"))
        out.most = std::min(count, static_cast<size_t>(request.at("top_n").integer(1, INT32_MAX)));
    if (request.has("return_documents")) out.with_documents = request.at("return_documents").boolean();
    return out;
}

std::vector<size_t> best_first(const std::vector<double> &scores) {
    std::vector<size_t> out(scores.size());
    std::iota(out.begin(), out.end(), size_t{0});
    std::ranges::stable_sort(out, std::ranges::greater{}, [&](size_t i) {
        return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
    });
    return out;
}

std::string rerank_json(const RerankRequest &request, const std::vector<double> &scores, size_t tokens) {
    const std::vector<size_t> order = best_first(scores);
    Json results = Json::array();
    for (const size_t i : std::span(order).first(request.most)) {
        Json result{{"index", i}, {"relevance_score", scores[i]}};
        if (request.with_documents) result["document"] = Json{{"text", request.documents[i]}};
        results.push_back(std::move(result));
    }
    return Json{
        {"object", "list"}, {"model", request.model}, {"results", std::move(results)}, {"usage", usage_of(tokens)}}
        .in_one_line();
}

RerankRequest score_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "ScoreRequest");
    RerankRequest out;
    out.model = request.at("model").string();
    out.cut = truncation_of(request);
    out.query = query_of(request.at("text_1"));
    out.documents = texts_of(request.at("text_2"), most_documents);
    if (out.documents.empty()) request.at("text_2").fail("expected at least one text");
    return out;
}

std::string score_json(const RerankRequest &request, const std::vector<double> &scores, size_t tokens) {
    Json data = Json::array();
    for (size_t i = 0; i < scores.size(); ++i)
        data.push_back({{"index", i}, {"object", "score"}, {"score", scores[i]}});
    return Json{{"object", "list"}, {"model", request.model}, {"data", std::move(data)}, {"usage", usage_of(tokens)}}
        .in_one_line();
}

} // namespace lamina::serve
