// Normalizers change a text before it is split. The text keeps track of where its characters come from.
#pragma once

#include "tokenizer/split.hpp"
#include "tokenizer/text.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

using Normalizer = std::function<void(Text &)>;

struct BertNormalizer {
    bool clean_text = true;            // removes control characters; all white space becomes spaces
    bool handle_chinese_chars = true;  // puts spaces around each
    std::optional<bool> strip_accents; // none: same as lowercase
    bool lowercase = true;
};
[[nodiscard]] Normalizer bert(const BertNormalizer &options);
[[nodiscard]] Normalizer lowercase();
[[nodiscard]] Normalizer strip(bool left, bool right); // white space
[[nodiscard]] Normalizer strip_accents();              // all marks
[[nodiscard]] Normalizer replace(Pattern pattern, std::string content);
[[nodiscard]] Normalizer prepend(std::string text); // an empty text stays empty
[[nodiscard]] Normalizer nmt();                     // SentencePiece's rule for control characters and unusual spaces
[[nodiscard]] Normalizer bytes_as_characters();     // ByteLevel: see byte_characters.hpp
[[nodiscard]] Normalizer sequence(std::vector<Normalizer> normalizers);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
[[nodiscard]] Normalizer normal_form(NormalForm form);

// SentencePiece's compiled rules, in the format of its files: the size of a trie in bytes, the trie, and replacements
// that end in a zero byte. Throws Error(input) if they are malformed.
[[nodiscard]] Normalizer charsmap(std::string_view compiled);

} // namespace lamina::tokenizer
