// Requests of /v1/rerank in the form that Cohere, Jina and llama.cpp share, and of /v1/score in that of vLLM, from
// text, and what answers them. docs/serving.md lists the fields.
#pragma once

#include "base/json_reader.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// How well each of the documents answers the query.
struct RerankRequest {
    std::string model, query;
    std::vector<std::string> documents;
    size_t most = 0; // results: those of the best documents
    bool with_documents = false;
    std::optional<bool> cut; // texts that are too long together
};
// Throws Error(input), with the place in the request, for anything that is wrong or not supported.
[[nodiscard]] RerankRequest rerank_request(std::string_view body);

// A query in any of these requests.
[[nodiscard]] std::string query_of(const JsonView &value);

// "text_1" as the query and "text_2", a text or several, as documents.
[[nodiscard]] RerankRequest score_request(std::string_view body);

// Their places. A score that is no number is the worst.
[[nodiscard]] std::vector<size_t> best_first(const std::vector<double> &scores);

// Best first. `scores`: of the documents, in their order.
[[nodiscard]] std::string rerank_json(const RerankRequest &request, const std::vector<double> &scores, size_t tokens);

// In the order of the request.
[[nodiscard]] std::string score_json(const RerankRequest &request, const std::vector<double> &scores, size_t tokens);

} // namespace lamina::serve
