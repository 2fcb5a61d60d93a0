// The models other than byte-pair encoding.
#pragma once

#include "tokenizer/model.hpp"
#include "tokenizer/vocabulary.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

// WordPiece (BERT): repeatedly takes the longest token that the rest of the word begins with. A word that cannot be
// split this way, or that has more than `longest_word` characters, becomes the unknown token.
[[nodiscard]] std::unique_ptr<Model> word_piece(Vocabulary vocabulary, std::string unknown_token,
                                                std::string continuing_subword_prefix, size_t longest_word);

// Whole words.
[[nodiscard]] std::unique_ptr<Model> word_level(Vocabulary vocabulary, std::string unknown_token);

// Unigram (Kudo, arXiv:1804.10959): splits the text into the tokens with the highest sum of scores (log probabilities,
// by id). Characters without a token are unknown; consecutive ones become one token.
[[nodiscard]] std::unique_ptr<Model> unigram(Vocabulary vocabulary, std::vector<double> scores,
                                             std::optional<int32_t> unknown, bool byte_fallback);

} // namespace lamina::tokenizer
