// Tokenizers: text to token ids and back, exactly as the models were trained.
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

// A token's position in its text: [begin, end).
struct TextRange {
    size_t begin = 0, end = 0;
    bool operator==(const TextRange &) const = default;
};

// The tokens of one text or of a pair. All lists have the same length.
struct Encoding {
    std::vector<int32_t> ids;
    std::vector<std::string> tokens; // as written in the vocabulary: "##ing", "Ġworld"
    std::vector<TextRange> offsets;  // within the token's own text; 0, 0 for tokens that come from no text
    std::vector<int32_t> types;      // token type ids: usually 0 for the first text and 1 for the second
    std::vector<bool> special;       // added by the tokenizer around the texts
    std::vector<int32_t> words = {}; // the number of the word in its text that a token is a part of; -1: of none

    [[nodiscard]] size_t size() const { return ids.size(); }
    bool operator==(const Encoding &) const = default;
};

struct EncodeOptions {
    enum class Unit { characters, bytes };
    bool add_special_tokens = true;  // "[CLS]", "<s>", ...: what the model expects around its input
    Unit offsets = Unit::characters; // code points, or bytes of UTF-8
};

// Cheap to copy. All functions may be called from several threads at once.
class Tokenizer {
  public:
    // Reads a tokenizer.json, a folder that contains one, or a SentencePiece model (*.model, *.spm). Throws
    // Error(input) with the file and the place in it for anything it does not understand; nothing that affects ids is
    // ignored. Truncation and padding, which such files may ask for, are left to the caller.
    [[nodiscard]] static Tokenizer load(const std::filesystem::path &path);
    // The same for the text of a tokenizer.json. Messages use `name` as the file's name.
    [[nodiscard]] static Tokenizer parse(std::string_view json, const std::string &name);

    // Throws Error(input) for text that is not UTF-8 (with the offset), for a word that the vocabulary cannot express,
    // and for text on which one of the file's regular expressions backtracks too much.
    [[nodiscard]] Encoding encode(std::string_view text, const EncodeOptions &options = {}) const;
    [[nodiscard]] Encoding encode(std::string_view text, std::string_view second,
                                  const EncodeOptions &options = {}) const;
    // The same of texts that are words already, each of which is encoded by itself: Encoding::words says which of its
    // text a token is a part of, and offsets are within that word.
    [[nodiscard]] Encoding encode_words(std::span<const std::string> words, const EncodeOptions &options = {}) const;
    [[nodiscard]] Encoding encode_words(std::span<const std::string> words, std::span<const std::string> second,
                                        const EncodeOptions &options = {}) const;

    // Skips ids that have no token: models may have more outputs than the vocabulary has tokens. Bytes that are not
    // valid UTF-8 become U+FFFD.
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const;
    [[nodiscard]] std::optional<std::string> token(int32_t id) const;
    [[nodiscard]] bool is_special(int32_t id) const;
    [[nodiscard]] size_t size() const; // one more than the highest id

    struct Parts;
    explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
    [[nodiscard]] const Parts &parts() const { return *parts_; }

  private:
    std::shared_ptr<const Parts> parts_;
};

// Decodes tokens one at a time, for display as they arrive. Never returns half a character.
class StreamDecoder {
  public:
    explicit StreamDecoder(Tokenizer tokenizer, bool skip_special_tokens = true)
        : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens) {}

    // Returns what this token adds to the text, or "" while a character is incomplete. If the tokenizer cleans texts
    // up, the beginning of a word is held back as long as it may lose the space before it.
    [[nodiscard]] std::string push(int32_t id);
    // What has been held back is left out: it is the end of a prompt, and only what follows is wanted.
    void drop_held() { held_.clear(); }
    // Returns what is left after the last token: bytes of an incomplete character become U+FFFD.
    [[nodiscard]] std::string finish();

  private:
    [[nodiscard]] std::string decoded() const;
    [[nodiscard]] std::string added_by(int32_t id); // before the clean-up

    Tokenizer tokenizer_;
    bool skip_special_tokens_;
    // A decoder looks at the token before to decide about spaces, so the last tokens that gave text are kept.
    std::vector<int32_t> ids_; // those tokens, then the pending ones
    size_t old_ = 0;           // how many of ids_ have already given their text
    std::string given_;        // the part of ids_' text that has been returned, or held
    std::string held_;         // what is still to be cleaned up
};

} // namespace lamina
