// Tokenizers: text to token ids and back, as models were trained with them.
//
//     const lamina::Tokenizer tokenizer = lamina::Tokenizer::load("minilm/tokenizer.json");
//     const lamina::Encoding encoding = tokenizer.encode("Hello world");
//     std::string text = tokenizer.decode(encoding.ids);
#pragma once

#include <lamina/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina {

// Where a token stands in its text: [begin, end).
struct TextRange {
    size_t begin = 0, end = 0;
    bool operator==(const TextRange &) const = default;
};

// The tokens of a text, or of two: lists of the same length.
struct Encoding {
    std::vector<int32_t> ids;
    std::vector<std::string> tokens; // as the vocabulary has them, "##ing" or "Ġworld"
    std::vector<TextRange> offsets;  // in the token's own text; 0, 0 for tokens that are in none
    std::vector<int32_t> types;      // 0 or 1: mostly, which of two texts
    std::vector<bool> special;       // added around the texts

    [[nodiscard]] size_t size() const { return ids.size(); }
    bool operator==(const Encoding &) const = default;
};

struct EncodeOptions {
    enum class Unit { characters, bytes };
    bool add_special_tokens = true;  // "[CLS]", "<s>": as the model wants them around its input
    Unit offsets = Unit::characters; // code points, or bytes of UTF-8
};

// Cheap to copy. All functions may be called from several threads at once.
class Tokenizer {
  public:
    // A tokenizer.json, a folder that holds one, or a SentencePiece model (*.model). Throws Error(input) with the file
    // and the place in it for whatever is not understood: nothing is ignored that changes ids. Truncation and padding,
    // which such files may ask for, are the caller's.
    [[nodiscard]] static Tokenizer load(const std::filesystem::path &path);
    // The same for the text of a tokenizer.json; `name` stands for the file in messages.
    [[nodiscard]] static Tokenizer parse(std::string_view json, const std::string &name);

    // Throws Error(input) for text that is not UTF-8, with the offset; for a word that the model has no tokens for; for
    // a text that one of the file's regular expressions explodes on.
    [[nodiscard]] Encoding encode(std::string_view text, const EncodeOptions &options = {}) const;
    [[nodiscard]] Encoding encode(std::string_view text, std::string_view second,
                                  const EncodeOptions &options = {}) const;

    // Ids that have no token (models may have more outputs than that) stand for nothing. Bytes that make no character
    // become U+FFFD.
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const;
    [[nodiscard]] std::optional<std::string> token(int32_t id) const;
    [[nodiscard]] bool is_special(int32_t id) const;
    [[nodiscard]] size_t size() const; // one more than the highest id

    struct Parts;
    explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  private:
    std::shared_ptr<const Parts> parts_;
};

// Text as tokens come, in pieces that may be shown at once: never half a character.
class StreamDecoder {
  public:
    explicit StreamDecoder(Tokenizer tokenizer, bool skip_special_tokens = true)
        : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens) {}

    // What this token adds to the text; "" while a character is incomplete.
    [[nodiscard]] std::string push(int32_t id);
    // What is left when no token follows: bytes that never became a character, as U+FFFD.
    [[nodiscard]] std::string finish();

  private:
    Tokenizer tokenizer_;
    bool skip_special_tokens_;
    std::vector<int32_t> ids_; // the last that gave text, which decide about blanks before the next, and the next
    size_t old_ = 0;           // how many of them are the former
    std::string given_;        // of their text
};

} // namespace lamina
