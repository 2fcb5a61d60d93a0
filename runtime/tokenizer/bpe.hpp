// Byte-pair encoding (Sennrich et al., arXiv:1508.07909): a word's characters are merged pair by pair. The pair with
// the lowest rank goes first; among equals, the leftmost.
#pragma once

#include "tokenizer/model.hpp"
#include "tokenizer/vocabulary.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

struct BpeOptions {
    std::optional<std::string> unknown_token; // none: characters that are not in the vocabulary are dropped
    std::string continuing_subword_prefix;    // before every character of a word except the first
    std::string end_of_word_suffix;           // after the last
    bool fuse_unknown = false;                // consecutive unknown characters become one token
    bool byte_fallback = false;               // unknown characters become one token per byte, "<0x0A>"
    bool ignore_merges = false;               // a word that is in the vocabulary is one token
};

// A pair of tokens and the token they merge into, by id. Ranks may repeat.
struct Merge {
    int32_t left, right, made;
    uint32_t rank;
};

// If a pair occurs twice, the later entry wins.
[[nodiscard]] std::unique_ptr<Model> bpe(Vocabulary vocabulary, const std::vector<Merge> &merges, BpeOptions options);

// The merge of two tokens given as text. Throws Error(input) if either of them, or the result, is not in the
// vocabulary.
[[nodiscard]] Merge merge_of(const Vocabulary &vocabulary, std::string_view left, std::string_view right, uint32_t rank,
                             std::string_view continuing_subword_prefix);

} // namespace lamina::tokenizer
