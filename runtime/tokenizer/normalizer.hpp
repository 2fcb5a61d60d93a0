// Normalizers: what is done to a text before it is split. Each remembers where its characters come from.
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
    bool clean_text = true;            // no control characters, blanks alone as white space
    bool handle_chinese_chars = true;  // each between blanks
    std::optional<bool> strip_accents; // none: as lowercase
    bool lowercase = true;
};
[[nodiscard]] Normalizer bert(const BertNormalizer &options);
[[nodiscard]] Normalizer lowercase();
[[nodiscard]] Normalizer strip(bool left, bool right); // white space
[[nodiscard]] Normalizer strip_accents();              // all marks
[[nodiscard]] Normalizer replace(Pattern pattern, std::string content);
[[nodiscard]] Normalizer prepend(std::string text); // not to an empty text
[[nodiscard]] Normalizer nmt();                     // control characters and odd blanks, as SentencePiece has it
[[nodiscard]] Normalizer bytes_as_characters();     // ByteLevel: see byte_characters.hpp
[[nodiscard]] Normalizer sequence(std::vector<Normalizer> normalizers);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
[[nodiscard]] Normalizer normal_form(NormalForm form);

// SentencePiece's compiled rules, as its files hold them: the size of a trie in bytes, the trie, texts that end in zero
// bytes. Throws Error(input) for what is none.
[[nodiscard]] Normalizer charsmap(std::string_view compiled);

} // namespace lamina::tokenizer
