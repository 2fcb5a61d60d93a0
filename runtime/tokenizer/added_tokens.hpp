// Tokens beside the model's vocabulary, which are found in a text before it is split: special ones, and words added
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
    bool single_word = false; // only where no letter or digit is beside it
    bool lstrip = false;      // the white space before it belongs to it
    bool rstrip = false;      // and that behind
    bool normalized = true;   // looked for in the normalized text, as what the normalizer makes of it
    bool special = false;     // left out of decoded text when asked for
};

class AddedTokens {
  public:
    AddedTokens() = default;
    // Throws Error(input) for empty tokens, and two that are looked for by the same text.
    AddedTokens(std::vector<AddedToken> tokens, const Normalizer &normalizer);

    // The text, normalized, in pieces: added tokens, and what is between them.
    [[nodiscard]] std::vector<Piece> split(std::string_view text, const Normalizer &normalizer) const;

    [[nodiscard]] const AddedToken *by_id(int32_t id) const;
    // What decoders are given for it: normalized tokens as they stand in a normalized text.
    [[nodiscard]] const std::string &decoded_text(int32_t id) const { return decoded_.at(id); }
    [[nodiscard]] bool is_special(const std::string &text) const { return special_.contains(text); }
    [[nodiscard]] const std::vector<AddedToken> &all() const { return tokens_; }

  private:
    void split(std::vector<Piece> &pieces, const Trie &patterns) const;
    void split(const Text &text, const Trie &patterns, std::vector<Piece> &out) const;

    std::vector<AddedToken> tokens_;
    std::unordered_map<int32_t, size_t> by_id_; // places in tokens_
    std::unordered_map<int32_t, std::string> decoded_;
    std::unordered_set<std::string> special_;
    Trie verbatim_, normalized_; // values are places in tokens_
};

} // namespace lamina::tokenizer
