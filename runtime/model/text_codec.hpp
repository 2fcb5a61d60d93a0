// How a model's texts become token ids, and ids become text.
#pragma once

#include "grammar/token_trie.hpp"
#include "model/vocabulary.hpp"

#include <lamina/tokenizer.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

using Ids = std::vector<int32_t>;

// Decodes tokens as they are generated. Each piece of text can be shown at once: it never ends within a character.
class TextStream {
  public:
    virtual ~TextStream() = default;
    [[nodiscard]] virtual std::string push(int32_t id) = 0; // the text that this token adds
    virtual void drop_held() {}                             // what it has held back, the end of a prompt, is left out
    [[nodiscard]] virtual std::string finish() = 0;         // the remaining text, after the last token
};

class TextCodec {
  public:
    enum class Split { characters, words, tokenizer }; // how a text is split into tokens

    virtual ~TextCodec() = default;
    // `special`: add the special tokens around a text. Throws Error(input) if a part of the text has no token.
    [[nodiscard]] virtual Ids encode(std::string_view text, bool special) const = 0;
    // `special`: with special tokens.
    [[nodiscard]] virtual std::string decode(std::span<const int32_t> ids, bool special) const = 0;
    [[nodiscard]] virtual std::unique_ptr<TextStream> stream(bool special) const = 0;
    [[nodiscard]] virtual std::optional<int32_t> id(std::string_view token) const = 0;
    [[nodiscard]] virtual std::string token(int32_t id) const = 0; // "" for an unused id
    [[nodiscard]] virtual size_t size() const = 0;                 // one more than the highest id
    [[nodiscard]] virtual Split split() const = 0;
    [[nodiscard]] virtual bool lowercase() const { return false; } // whether ASCII letters are lowercased first

    // The bytes that each token adds to a text: as its first one, or behind others; with those of special tokens, or
    // without. Made once.
    [[nodiscard]] std::shared_ptr<const grammar::TokenTrie> tokens(bool first, bool special) const;
    // The same by id, made each time; empty: no text.
    [[nodiscard]] virtual std::vector<std::string> bytes(bool first, bool special) const = 0;

    [[nodiscard]] const std::string &file() const { return file_; } // in the model folder

  protected:
    explicit TextCodec(std::string file) : file_(std::move(file)) {}

  private:
    std::string file_;
    mutable std::mutex mutex_;
    mutable std::array<std::shared_ptr<const grammar::TokenTrie>, 4> tokens_;
};

// One token for each character (a code point), or for each word between spaces.
[[nodiscard]] std::shared_ptr<const TextCodec> codec_of(Vocabulary vocabulary, const std::string &file,
                                                        TextCodec::Split split, bool lowercase);
[[nodiscard]] std::shared_ptr<const TextCodec> codec_of(Tokenizer tokenizer, const std::string &file);

} // namespace lamina::model
