// The tokenizer of RWKV's folders.
#pragma once

#include "architectures/tokenizer_parts.hpp"

#include <filesystem>

namespace lamina::architectures {

// RWKV's list of tokens, rwkv_vocab_v20230424.txt or a later one; empty: the folder has none.
[[nodiscard]] std::filesystem::path rwkv_vocabulary(const std::filesystem::path &folder);

// Of that list, whose tokens are any bytes: repeatedly the longest one that the rest of a text begins with
// (RwkvTokenizer, hf_rwkv_tokenizer.py of such folders; the package rwkv). Token 0, which no line has, ends texts.
// Throws Error(input).
[[nodiscard]] TokenizerParts rwkv_tokenizer(const std::filesystem::path &list, const TokenizerSettings &options);

} // namespace lamina::architectures
