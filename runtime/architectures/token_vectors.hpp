// Models that give a vector for each token, which are compared one by one (ColBERT: Khattab and Zaharia,
// arXiv:2004.12832). Read as sentence-transformers reads them (multi_vector_encoder/model.py): folders of its own,
// those of PyLate, and those of the first programs, of Stanford.
#pragma once

#include "architectures/architecture.hpp"
#include "base/json.hpp"

#include <filesystem>

namespace lamina::architectures {

enum class TokenVectorFormat { none, sentence_transformers, pylate, stanford }; // none: another model

[[nodiscard]] TokenVectorFormat token_vector_format(const std::filesystem::path &folder);

// Adds what the "reading" block of such a model says of queries and documents. Throws Error(input).
void add_token_vector_roles(const Draft &draft, Json &reading);

} // namespace lamina::architectures
