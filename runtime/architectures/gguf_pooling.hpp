// What a GGUF file says becomes of hidden states, unless they continue texts (github.com/ggml-org/llama.cpp,
// llama-graph.cpp, build_pooling() and build_dense_out()).
#pragma once

#include "architectures/architecture.hpp"
#include "model/gguf_metadata.hpp"

#include <optional>
#include <string>

namespace lamina::architectures {

class GgufPooling {
  public:
    // `kind` must outlive it; `place`: the file's metadata, for messages.
    GgufPooling(GgufFacts file, const GgufKind &kind, std::string place)
        : file_(std::move(file)), kind_(kind), place_(std::move(place)) {}

    // One pooling, matrices behind it if the file has them, then vectors of length 1. Throws Error(input).
    [[nodiscard]] std::optional<SentenceModules> sentences() const;
    // Of a decoder that is asked whether a document answers a query, such as Qwen3-Reranker: the file has the rows of
    // its head that say so. Throws Error(input).
    [[nodiscard]] std::optional<TokenScore> token_score() const;

  private:
    GgufFacts file_;
    const GgufKind &kind_;
    std::string place_;

    [[nodiscard]] std::vector<SentenceModules::Matrix> matrices() const;
};

} // namespace lamina::architectures
