// Byte-pair encoding (Sennrich et al., arXiv:1508.07909): a word's characters are merged pair by pair, the pair of the
// lowest rank first, and of several the leftmost.
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
    std::string continuing_subword_prefix;    // before every character of a word but the first
    std::string end_of_word_suffix;           // behind the last
    bool fuse_unknown = false;                // unknown characters in a row become one token
    bool byte_fallback = false;               // unknown characters become tokens of their bytes, "<0x0A>"
    bool ignore_merges = false;               // a word that is in the vocabulary is not taken apart
};

// One pair, by the ids of its parts and of what they make. Ranks may repeat.
struct Merge {
    int32_t left, right, made;
    uint32_t rank;
};

// Of pairs that occur twice, the later one counts.
[[nodiscard]] std::unique_ptr<Model> bpe(Vocabulary vocabulary, const std::vector<Merge> &merges, BpeOptions options);

// The pair by its texts. Throws Error(input) when a part, or what they make, is not in the vocabulary.
[[nodiscard]] Merge merge_of(const Vocabulary &vocabulary, std::string_view left, std::string_view right, uint32_t rank,
                             std::string_view continuing_subword_prefix);

} // namespace lamina::tokenizer
