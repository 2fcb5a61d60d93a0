// Models split a word into tokens of their vocabulary. Added tokens are kept elsewhere (added_tokens.hpp).
#pragma once

#include "tokenizer/span.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

// A token of a word, and the bytes of the word that it covers.
struct WordToken {
    int32_t id;
    Span span;
    bool verbatim = false; // reported as the text itself, not as the vocabulary's token
};

class Model {
  public:
    Model() = default;
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;
    virtual ~Model() = default;

    // Appends the tokens of a word. Throws Error(input) if the vocabulary cannot express it and has no unknown token.
    virtual void tokenize(std::string_view word, std::vector<WordToken> &out) const = 0;
    [[nodiscard]] virtual std::optional<int32_t> id(std::string_view token) const = 0;
    [[nodiscard]] virtual std::optional<std::string_view> token(int32_t id) const = 0;
    [[nodiscard]] virtual int32_t count() const = 0; // of tokens
    [[nodiscard]] virtual int32_t end() const = 0;   // above every id
    [[nodiscard]] virtual bool is_bpe() const { return false; }
};

} // namespace lamina::tokenizer
