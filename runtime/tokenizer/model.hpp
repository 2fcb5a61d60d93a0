// Models: they make tokens of a word. Their vocabularies are theirs alone; added tokens are kept elsewhere.
#pragma once

#include "tokenizer/span.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

// A token of a word, and the bytes of the word that it stands for.
struct WordToken {
    int32_t id;
    Span span;
    bool verbatim = false; // called as the text is, not as in the vocabulary
};

class Model {
  public:
    Model() = default;
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;
    virtual ~Model() = default;

    // Appends the tokens of a word. Throws Error(input) where the model has none for it, nor one for what is unknown.
    virtual void tokenize(std::string_view word, std::vector<WordToken> &out) const = 0;
    [[nodiscard]] virtual std::optional<int32_t> id(std::string_view token) const = 0;
    [[nodiscard]] virtual std::optional<std::string_view> token(int32_t id) const = 0;
    [[nodiscard]] virtual int32_t count() const = 0; // of tokens
    [[nodiscard]] virtual int32_t end() const = 0;   // above every id
};

} // namespace lamina::tokenizer
