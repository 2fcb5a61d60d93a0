// Tokens that are found in a text before it is split into words: special tokens, and words added to the vocabulary
// later.
#pragma once

#include "tokenizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/trie.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lamina::tokenizer {

struct AddedToken {
    int32_t id = 0;
    std::string content;
    bool single_word = false; // matches only where no letter or digit is next to it
    bool lstrip = false;      // takes the white space before it
    bool rstrip = false;      // takes the white space after it
    bool normalized = true;   // its normalized form is matched against the normalized text
    bool special = false;     // left out of decoded text on request
};

class AddedTokens {
  public:
    AddedTokens() = default;
    // Throws Error(input) for an empty token, and for two that match the same text.
    AddedTokens(std::vector<AddedToken> tokens, const Normalizer &normalizer);

    // Normalizes the text and splits it into added tokens and the text between them.
    [[nodiscard]] std::vector<Piece> split(Text text, const Normalizer &normalizer) const;

    [[nodiscard]] const AddedToken *by_id(int32_t id) const;
    // The text that decoders get for it: the normalized form if the token is `normalized`.
    [[nodiscard]] const std::string &decoded_text(int32_t id) const { return decoded_.at(id); }
    [[nodiscard]] bool is_special(const std::string &text) const { return special_.contains(text); }
    [[nodiscard]] const std::vector<AddedToken> &all() const { return tokens_; }

  private:
    void split(std::vector<Piece> &pieces, const Trie &patterns) const;
    void split(const Text &text, const Trie &patterns, std::vector<Piece> &out) const;

    std::vector<AddedToken> tokens_;
    std::unordered_map<int32_t, size_t> by_id_; // indices into tokens_
    std::unordered_map<int32_t, std::string> decoded_;
    std::unordered_set<std::string> special_;
    Trie verbatim_, normalized_; // values are indices into tokens_
};

} // namespace lamina::tokenizer
