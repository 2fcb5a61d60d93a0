// How a model's texts become token ids, and ids become text.
#pragma once

#include "model/vocabulary.hpp"

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

using Ids = std::vector<int32_t>;

// The text of tokens as they come, in pieces that may be shown at once: never half a character.
class TextStream {
  public:
    virtual ~TextStream() = default;
    [[nodiscard]] virtual std::string push(int32_t id) = 0; // what this token adds
    [[nodiscard]] virtual std::string finish() = 0;         // what is left when no token follows
};

class TextCodec {
  public:
    enum class Split { characters, words, tokenizer }; // what a token is: the third, what a tokenizer makes of a text

    virtual ~TextCodec() = default;
    // `special`: with the tokens that the model wants around a text. Throws Error(input) for a text that has no tokens.
    [[nodiscard]] virtual Ids encode(std::string_view text, bool special) const = 0;
    [[nodiscard]] virtual std::string decode(std::span<const int32_t> ids) const = 0; // without special tokens
    [[nodiscard]] virtual std::unique_ptr<TextStream> stream() const = 0;
    [[nodiscard]] virtual std::optional<int32_t> id(std::string_view token) const = 0;
    [[nodiscard]] virtual std::string token(int32_t id) const = 0; // "" for an id that has none
    [[nodiscard]] virtual size_t size() const = 0;                 // one more than the highest id
    [[nodiscard]] virtual Split split() const = 0;
    [[nodiscard]] virtual bool lowercase() const { return false; } // ASCII letters are made lower case first

    [[nodiscard]] const std::string &file() const { return file_; } // in the model folder

  protected:
    explicit TextCodec(std::string file) : file_(std::move(file)) {}

  private:
    std::string file_;
};

// A token for each character (a code point), or for each word between blanks.
[[nodiscard]] std::shared_ptr<const TextCodec> codec_of(Vocabulary vocabulary, const std::string &file,
                                                        TextCodec::Split split, bool lowercase);
[[nodiscard]] std::shared_ptr<const TextCodec> codec_of(Tokenizer tokenizer, const std::string &file);

} // namespace lamina::model
