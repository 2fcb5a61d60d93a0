// Pre-tokenizers split a text into words. No token extends over two words.
#pragma once

#include "tokenizer/normalizer.hpp"
#include "tokenizer/split.hpp"
#include "tokenizer/text.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lamina::tokenizer {

// A part of a text: either still to be split, or an added token, which stays whole.
struct Piece {
    Text text;
    std::optional<int32_t> added_token = {};
};

using PreTokenizer = std::function<void(std::vector<Piece> &)>;

// Splits every piece that is not an added token, and drops empty parts.
void split_pieces(std::vector<Piece> &pieces, const std::function<std::vector<Span>(const Text &)> &parts_of);

[[nodiscard]] PreTokenizer split_by(Pattern pattern, Delimiter delimiter, bool inverted);
[[nodiscard]] PreTokenizer split_by(std::function<bool(char32_t)> is_delimiter, Delimiter delimiter);
[[nodiscard]] PreTokenizer bert_words();
[[nodiscard]] PreTokenizer words_and_symbols();   // Whitespace: \w+|[^\w\s]+
[[nodiscard]] PreTokenizer words_of_one_script(); // UnicodeScripts
[[nodiscard]] PreTokenizer fixed_length(size_t characters);
[[nodiscard]] PreTokenizer sequence(std::vector<PreTokenizer> pre_tokenizers);

struct ByteLevel {
    bool add_prefix_space = true, trim_offsets = true, use_regex = true;
};
[[nodiscard]] PreTokenizer byte_level(const ByteLevel &options);

struct Metaspace {
    enum class Prepend { never, first, always };
    char32_t replacement = 0x2581;
    Prepend prepend = Prepend::always; // first: only at the start of the text
    bool split = true;
};
[[nodiscard]] PreTokenizer metaspace(const Metaspace &options);

} // namespace lamina::tokenizer
