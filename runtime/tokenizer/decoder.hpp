// Decoders turn tokens, as written in the vocabulary, into text.
#pragma once

#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/split.hpp"

#include <functional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

// Tokens in, parts of the text out. The caller joins the output of the last decoder.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string>)>;

// Without spaces before punctuation marks and in English contractions (transformers, tokenization_utils_base.py,
// clean_up_tokenization).
[[nodiscard]] std::string cleaned_up(std::string text);
// How much of a text that goes on may be cleaned up already: what follows changes nothing there.
[[nodiscard]] size_t settled(std::string_view text);

[[nodiscard]] Decoder decode_byte_level();
[[nodiscard]] Decoder decode_byte_fallback(); // "<0xE4>" to a byte; runs that are not UTF-8 become U+FFFD, one per byte
[[nodiscard]] Decoder decode_word_piece(std::string prefix, bool cleanup);
[[nodiscard]] Decoder decode_metaspace(const Metaspace &options);
[[nodiscard]] Decoder decode_bpe(std::string suffix);
[[nodiscard]] Decoder decode_ctc(std::string pad_token, std::string word_delimiter, bool cleanup);
[[nodiscard]] Decoder decode_fuse();
// Removes at most `start` and `stop` such characters from the ends of each token.
[[nodiscard]] Decoder decode_strip(char32_t content, size_t start, size_t stop);
[[nodiscard]] Decoder decode_replace(Pattern pattern, std::string content);
[[nodiscard]] Decoder decode_with_blanks(); // the default: joins tokens with spaces
[[nodiscard]] Decoder sequence(std::vector<Decoder> decoders);

} // namespace lamina::tokenizer
