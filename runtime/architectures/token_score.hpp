// Rerankers that ask a decoder whether a document answers a query: the score is how much likelier it says one token
// than another, such as "yes" than "no" (sentence-transformers, cross_encoder/modules/logit_score.py).
#pragma once

#include "architectures/graph_writer.hpp"
#include "model/weights.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

struct TokenScore {
    int64_t wanted = 0;                // the token that says that it does
    std::optional<int64_t> other = {}; // the one that says that it does not; none: its logit counts as 0
    std::string place = {};            // the file that says so, for messages
    std::string rows = {};             // the tensor that these ids count rows of; empty: the head for words
};

// Reads modules.json and the folder of its module LogitScore. none: there is no such module. Throws Error(input) for
// other modules beside it.
[[nodiscard]] std::optional<TokenScore> read_token_score(const std::filesystem::path &folder);

// The head for words of a decoder.
struct WordsHead {
    std::string weight, bias = {}; // (V, C) and (V); empty: none
    double softcap = 0;            // of the logits; 0: none
};

// The scores (B, 1) of what a decoder says next after its last tokens (B, C). Adds weights: rows of the head's.
[[nodiscard]] GraphWriter::Tensor token_score(GraphWriter &graph, model::Weights &weights, const WordsHead &head,
                                              const TokenScore &score, const GraphWriter::Tensor &last);

} // namespace lamina::architectures
