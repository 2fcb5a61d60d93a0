// Vectors of tokens, of models such as ColBERT, and how well documents answer queries by them.
#pragma once

#include "reading/reading.hpp"

#include <string>
#include <vector>

namespace lamina::reading {

// The tokens of a text in a role, with its mark and what it is filled with. `text`: with its prompt. Throws
// Error(input) for a text that is too long, unless `shorten`.
[[nodiscard]] Encoding encode_as(const model::Reading &model, const model::Reading::Role &role, const std::string &text,
                                 bool shorten);

// (tokens, C) for each text: the vectors that count.
[[nodiscard]] std::vector<Tensor> token_vectors(detail::SessionState &session, const std::vector<std::string> &texts,
                                                const ReadOptions &options);

// How well each `second` answers each `first`: the sum, or the mean, of the greatest product of each vector of the
// query with one of the document (MaxSim: Khattab and Zaharia, arXiv:2004.12832). A query that is there more than once
// is read once.
[[nodiscard]] std::vector<double> scores_of_pairs(detail::SessionState &session, const std::vector<TextPair> &pairs,
                                                  const ReadOptions &options);

} // namespace lamina::reading
