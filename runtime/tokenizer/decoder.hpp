// Decoders: from tokens, as the vocabulary has them, to the text that they stand for.
#pragma once

#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/split.hpp"

#include <functional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

// Tokens in, parts of the text out; what the last decoder leaves is joined.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string>)>;

[[nodiscard]] Decoder decode_byte_level();
[[nodiscard]] Decoder decode_byte_fallback(); // "<0xE4>" to bytes; each of those that are no UTF-8 to U+FFFD
[[nodiscard]] Decoder decode_word_piece(std::string prefix, bool cleanup);
[[nodiscard]] Decoder decode_metaspace(const Metaspace &options);
[[nodiscard]] Decoder decode_bpe(std::string suffix);
[[nodiscard]] Decoder decode_ctc(std::string pad_token, std::string word_delimiter, bool cleanup);
[[nodiscard]] Decoder decode_fuse();
[[nodiscard]] Decoder decode_strip(char32_t content, size_t start, size_t stop); // so many at most at either end
[[nodiscard]] Decoder decode_replace(Pattern pattern, std::string content);
[[nodiscard]] Decoder decode_with_blanks(); // where a file names no decoder: a blank between tokens
[[nodiscard]] Decoder sequence(std::vector<Decoder> decoders);

} // namespace lamina::tokenizer
