// Tokens that the files of a folder list beside its tokenizer.json.
#pragma once

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

// The folder's tokenizer with what `added_tokens_decoder` of tokenizer_config.json, or else added_tokens.json, says of
// tokens: some that tokenizer.json lacks, such as those of chats where it is that of a base model, and how the text
// around them is treated (transformers, tokenization_utils_tokenizers.py). A token gets no other id than the one that
// it has in the vocabulary, or the next free one; lists that say so otherwise are not followed. Tokens from id `rows`
// on, for which the model has no values, are left out. Throws Error(input).
[[nodiscard]] Tokenizer with_listed_tokens(const Tokenizer &tokenizer, const std::filesystem::path &folder,
                                           int64_t rows);

// The text of a tokenizer.json with the tokens that `tokenizer` has added; none: it has these.
[[nodiscard]] std::optional<std::string> with_tokens_of(const Tokenizer &tokenizer, std::string_view json,
                                                        const std::string &file);

} // namespace lamina::architectures
