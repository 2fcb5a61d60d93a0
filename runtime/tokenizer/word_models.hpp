// The models besides byte-pair encoding.
#pragma once

#include "tokenizer/model.hpp"
#include "tokenizer/vocabulary.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

// WordPiece (BERT): the longest beginning of what is left of a word, again and again. A word that cannot be taken apart
// so, or is longer, is the unknown token.
[[nodiscard]] std::unique_ptr<Model> word_piece(Vocabulary vocabulary, std::string unknown_token,
                                                std::string continuing_subword_prefix, size_t longest_word);

// Whole words.
[[nodiscard]] std::unique_ptr<Model> word_level(Vocabulary vocabulary, std::string unknown_token);

// Unigram (Kudo, arXiv:1804.10959): the tokens that make up the text with the highest sum of scores, log probabilities
// by id. Characters that no token begins with are unknown; those in a row become one token.
[[nodiscard]] std::unique_ptr<Model> unigram(Vocabulary vocabulary, std::vector<double> scores,
                                             std::optional<int32_t> unknown, bool byte_fallback);

} // namespace lamina::tokenizer
