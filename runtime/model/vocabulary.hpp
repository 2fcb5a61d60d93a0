// A vocabulary: a UTF-8 text file with one token per line. The line's number, from 0, is the token's id.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lamina::model {

class Vocabulary {
  public:
    Vocabulary() = default;
    // Lines may end in CR LF. Throws Error(input) with the line for empty tokens, duplicates, invalid UTF-8, and for an
    // empty file.
    static Vocabulary open(const std::filesystem::path &file);
    // The same for a text in memory; messages begin with `file`.
    static Vocabulary parse(std::string_view text, const std::filesystem::path &file);

    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const;
    [[nodiscard]] const std::string &token(int32_t id) const { return tokens_.at(static_cast<size_t>(id)); }
    [[nodiscard]] const std::vector<std::string> &tokens() const { return tokens_; }
    [[nodiscard]] const std::filesystem::path &file() const { return file_; }
    [[nodiscard]] size_t size() const { return tokens_.size(); }

    // The token ids of a text. A token is a character (a code point) or a word between spaces. `lowercase` lowercases
    // ASCII letters first. Throws Error(input) that quotes the first token that is not in the vocabulary, with its
    // column.
    [[nodiscard]] std::vector<int32_t> encode(std::string_view text, bool characters, bool lowercase) const;
    // Throws Error(input) for an id that is not in the vocabulary.
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, std::string_view separator) const;

  private:
    [[nodiscard]] int32_t known(std::string_view token, std::string_view text, size_t at) const;

    std::filesystem::path file_;
    std::vector<std::string> tokens_;
    std::unordered_map<std::string, int32_t> ids_;
};

} // namespace lamina::model
